//! The resolver of the hop: a mobile host asks for it, and a gateway answers.

use units::Instant;
use wire::address::HopAddress;
use wire::hop::{ResolverMessage, Resolvers};

use super::Host;
use crate::Output;
use crate::resolver::{self, ResolverTerms};

impl Host {
    /// Begins to ask a gateway that has new keys and these features; one that never answers offers nothing.
    pub(crate) fn begin_inquiry(&mut self, now: Instant, index: usize, features: u64) {
        if self.peers[index].settings.resolver != ResolverTerms::Ask {
            return;
        }
        if resolver::answers(features) {
            self.mobile.inquiry.questions.begin(now);
            self.inquire(now);
        } else {
            self.resolvers_known(Resolvers::default());
        }
    }

    /// Asks, if that is due.
    pub(crate) fn inquire(&mut self, now: Instant) {
        if !self.mobile.inquiry.questions.sends(now) {
            return;
        }
        match self.linked_gateway() {
            Some((index, to)) => {
                self.send_message(now, index, to, &ResolverMessage::Question.encode());
            }
            None => self.mobile.inquiry.questions.end(),
        }
    }

    /// Returns the gateway that serves this mobile host, with its address, if there are keys.
    pub(crate) fn linked_gateway(&self) -> Option<(usize, HopAddress)> {
        let index = self.gateway_index()?;
        let peer = &self.peers[index];
        let to = peer.endpoint.filter(|_| peer.presence.is_linked())?;
        Some((index, to))
    }

    /// Handles a message about the resolver from a peer. Only a gateway is believed, and only a gateway answers.
    pub(crate) fn resolver_message(
        &mut self,
        now: Instant,
        index: usize,
        message: ResolverMessage,
    ) {
        let peer = &self.peers[index];
        match (message, &peer.settings.resolver, peer.endpoint) {
            (ResolverMessage::Question, ResolverTerms::Offer(resolvers), Some(to)) => {
                let answer = ResolverMessage::Answer(resolvers.clone()).encode();
                self.send_message(now, index, to, &answer);
            }
            (ResolverMessage::Answer(resolvers), ResolverTerms::Ask, _) => {
                self.resolvers_known(resolvers);
            }
            (ResolverMessage::Question | ResolverMessage::Answer(_), _, _) => {}
        }
    }

    fn resolvers_known(&mut self, resolvers: Resolvers) {
        if self.mobile.inquiry.answered(&resolvers) {
            self.outputs.push_back(Output::Resolvers(resolvers));
        }
    }
}
