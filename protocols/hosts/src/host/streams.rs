//! Streams and system requests of the splitter.

use crate::{EventKind, Output, Profile, Role};
use association::{Reason, StreamAddresses, StreamNews, StreamRequest};
use machine::Machine;
use planted::Bug;
use redirector::Chunks;
use split::{Choice, Origin, Scope, SplitStatus, Splitter, SystemEvent};
use units::Instant;
use wire::packet::Packet;

use super::Host;

impl Host {
    /// Renews the streams of a peer that has started anew: those of its former life are gone, and those of this one
    /// can be used.
    pub(crate) fn renew_streams(&mut self, now: Instant, peer: usize, profile: Option<Profile>) {
        let former = std::mem::replace(&mut self.peers[peer].streams.profile, profile);
        self.peers[peer].streams.life += 1;
        let scope = self.peers[peer].scope();
        let Some(splitter) = &mut self.splitter else {
            return;
        };
        if former.is_some() {
            splitter.handle_input(now, split::Input::StreamsEnded { peer });
        }
        if let Some(profile) = profile {
            let began = split::Input::StreamsBegan {
                peer,
                profile,
                scope,
            };
            splitter.handle_input(now, began);
        }
    }

    /// Returns the way across the hop for new connections with a peer, if that is chosen for each.
    pub fn choice(&self, index: usize) -> Option<Choice> {
        let peer = self.peers.get(index)?;
        (peer.streams.profile.is_some() && peer.scope() == Scope::Chosen).then(|| peer.choice())
    }

    /// Returns the status of split connections, if TCP is split.
    pub fn split_status(&self) -> Option<SplitStatus> {
        self.splitter.as_ref().map(Splitter::status)
    }

    /// Passes a packet to the splitter if it concerns it; returns true if the packet ends there.
    pub(crate) fn split(&mut self, now: Instant, origin: Origin, packet: &Packet) -> bool {
        let Some(splitter) = &mut self.splitter else {
            return false;
        };
        let choose = |peer: usize| self.peers[peer].choice();
        let Some(found) = splitter.examine(origin, packet, choose) else {
            return false;
        };
        // The request of a mobile host whose TCP crosses as packets reaches another mobile host as a packet too.
        let requester = found.requester_of_mobile();
        let other = requester.and_then(|address| self.routes.owner(address));
        if other.is_some_and(|peer| !splitter.splits_every_request(peer)) {
            return false;
        }
        let is_held = found.holds_packet();
        splitter.handle_input(now, split::Input::Found(found));
        is_held
    }

    /// Passes on news of a peer's streams. Connections from addresses that are not the peer's own are refused, and at a
    /// mobile host those to addresses that are not its own: a gateway reaches nothing else of this host, such as the
    /// services of the loopback interface.
    pub(crate) fn stream_news(&mut self, now: Instant, peer: usize, news: StreamNews<Chunks>) {
        if let StreamNews::Arrived(id, addresses) = &news
            && (self.splitter.is_none() || self.is_foreign(peer, addresses))
        {
            self.peers[peer].foreign.packets += 1;
            if self.role == Role::Mobile && self.splitter.is_some() {
                let to = addresses.destination();
                self.announce(peer, EventKind::ForeignRequest { to });
            }
            let refuse = StreamRequest::Refuse(*id, Reason::Unreachable);
            let input = association::Input::Streams(refuse);
            self.associated(now, peer).handle_input(now, input);
        } else if let Some(splitter) = &mut self.splitter {
            splitter.handle_input(now, split::Input::Stream { peer, news });
        }
    }

    fn is_foreign(&self, peer: usize, addresses: &StreamAddresses) -> bool {
        let is_own = |address| {
            self.splitter
                .as_ref()
                .is_some_and(|own| own.serves(address))
        };
        match self.role {
            Role::Gateway => self.routes.owner(addresses.source().ip()) != Some(peer),
            Role::Mobile if planted::is(Bug::LoopbackIsReached) => false,
            Role::Mobile => !is_own(addresses.destination().ip()),
        }
    }

    /// Passes on an event in the driver's system.
    pub(crate) fn system(&mut self, now: Instant, event: SystemEvent<Chunks>) {
        if let Some(splitter) = &mut self.splitter {
            splitter.handle_input(now, split::Input::System(event));
        }
    }

    /// Carries out the outputs of the splitter, and shares the air, until both are at rest.
    pub(crate) fn settle(&mut self, now: Instant) {
        loop {
            self.share(now);
            if !self.follow_splitter(now) {
                return;
            }
        }
    }

    /// Carries out the outputs of the splitter; returns true if there were any.
    pub(super) fn follow_splitter(&mut self, now: Instant) -> bool {
        let mut has_asked = false;
        while let Some(output) = self.splitter.as_mut().and_then(Splitter::poll_output) {
            has_asked = true;
            match output {
                split::Output::ToHost(packet) => self.outputs.push_back(Output::Packet(packet)),
                split::Output::ToHop(packet) => self.route(now, packet),
                // What goes to streams of a peer that was revoked is late.
                split::Output::Stream { peer, .. } if self.peers.get(peer).is_none() => {}
                split::Output::Stream { peer, request } => {
                    let input = association::Input::Streams(request);
                    self.associated(now, peer).handle_input(now, input);
                    self.forward(now, peer);
                }
                split::Output::System(request) => self.outputs.push_back(Output::System(request)),
            }
        }
        has_asked
    }
}
