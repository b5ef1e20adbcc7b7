//! Troubles between a mobile host and its gateway: what both report, and the log.

use std::net::{IpAddr, Ipv4Addr};

use session::PeerId;
use units::{Duration, Instant};
use wire::hop::NoticeMessage;
use wire::ip::scope::is_link_local;
use wire::packet::Packet;

use super::Host;
use crate::trouble::{Circumstance, Trouble, TroubleCode, TroubleFacts};
use crate::{EventKind, Role};

/// Least time between two notices to one mobile host.
const NOTICE_GAP: Duration = Duration::from_secs(60);

impl Host {
    /// Records what the driver has noticed, or that it is so no longer.
    pub(crate) fn circumstance(
        &mut self,
        now: Instant,
        circumstance: Circumstance,
        words: Option<&str>,
    ) {
        for index in self.peers.indices() {
            let circumstances = &mut self.peers[index].signs.clues.circumstances;
            match words {
                Some(words) => drop(circumstances.insert(circumstance, words.into())),
                None => drop(circumstances.remove(&circumstance)),
            }
            self.log_trouble(now, index);
        }
    }

    /// Logs the trouble of a peer, once until it is reached.
    pub(crate) fn log_trouble(&mut self, now: Instant, index: usize) {
        let Some(trouble) = self.trouble(now, index) else {
            return;
        };
        match trouble.code {
            // These have events of their own.
            TroubleCode::KeyShared | TroubleCode::OutOfReach | TroubleCode::UdpBlocked => return,
            _ if !self.peers[index].signs.clues.is_news(trouble.code) => return,
            _ => {}
        }
        self.announce(index, EventKind::Trouble(Box::new(trouble)));
    }

    /// Returns the trouble of a peer now, if there is any. A gateway knows of one only: that a key is shared.
    pub(crate) fn trouble(&self, now: Instant, index: usize) -> Option<Trouble> {
        if self.is_apart(index) {
            return None;
        }
        let peer = &self.peers[index];
        let facts = TroubleFacts {
            now,
            reach: peer.reachability(now),
            is_shut: peer.reach.shut_for(now).is_some(),
            silent_for: peer.search.silent_for(now),
            at: peer.endpoint,
            ways: peer.search.ways.as_deref(),
            others: &peer.search.others,
            clues: &peer.signs.clues,
        };
        let trouble = facts.judge()?;
        let is_of_both = trouble.code == TroubleCode::KeyShared;
        (self.role == Role::Mobile || is_of_both).then_some(trouble)
    }

    /// Records that the gateway has turned this host away.
    pub(crate) fn turned_away(&mut self, now: Instant, id: PeerId, event: &session::Event) {
        let Some(index) = self.peers.index_of(id) else {
            return;
        };
        if let session::Event::Declined { reason, .. } = *event
            && self.go_on_with_next(now, index, reason)
        {
            return;
        }
        if self.is_gateway(index) && matches!(event, session::Event::Declined { .. }) {
            self.peers.homes.dismissed(index);
        }
        let clues = &mut self.peers[index].signs.clues;
        match *event {
            session::Event::Declined { reason, clock, .. } => {
                clues.declined = Some((reason, clock));
            }
            session::Event::OtherVersion { is_older, .. } => clues.other_version = Some(is_older),
            session::Event::Established { .. }
            | session::Event::KeyShared { .. }
            | session::Event::FormerKeyUsed { .. }
            | session::Event::StampRefused { .. }
            | session::Event::Left { .. }
            | session::Event::Expired { .. } => {}
        }
        self.log_trouble(now, index);
    }

    /// Records a packet from a source that its sender may not use, and tells the sender at times.
    pub(crate) fn foreign_source(&mut self, now: Instant, index: usize, packet: &Packet) {
        let peer = &mut self.peers[index];
        peer.foreign.packets += 1;
        let Some((source, destination)) = packet.ip().map(|ip| (ip.source(), ip.destination()))
        else {
            return;
        };
        let is_due = peer
            .foreign
            .told
            .is_none_or(|last| now >= last + NOTICE_GAP);
        let (Some(to), true) = (peer.endpoint, is_due) else {
            return;
        };
        if self.role != Role::Gateway || !is_host(source) || !is_host(destination) {
            return;
        }
        peer.foreign.told = Some(now);
        let notice = NoticeMessage::foreign_source(source);
        self.send_message(now, index, to, &notice);
    }

    /// Records a notice of the gateway.
    pub(crate) fn noticed(&mut self, now: Instant, index: usize, notice: NoticeMessage) {
        match notice {
            NoticeMessage::ForeignSource(source) if self.role == Role::Mobile => {
                self.peers[index].signs.clues.foreign = Some((now, source));
                self.log_trouble(now, index);
            }
            NoticeMessage::ForeignSource(_) | NoticeMessage::Unknown => {}
        }
    }
}

/// Returns true for the address of one host in a network, not of its link alone.
fn is_host(address: IpAddr) -> bool {
    let is_local = is_link_local(address) || address == Ipv4Addr::BROADCAST;
    !is_local && !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
}
