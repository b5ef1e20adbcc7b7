//! The validation of addresses: a peer's address changes once the peer has shown that it receives at the new one.

use planted::Bug;
use session::{DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES};
use units::Instant;
use wire::address::HopAddress;
use wire::hop::PathMessage;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use super::{Host, TAG};
use crate::EventKind;
use crate::candidate::Candidate;
use crate::tap::Crossing;

/// Bytes of a datagram with a message about the path.
const MESSAGE: usize = PathMessage::BYTES + DATA_OVERHEAD_BYTES;

/// An authentic datagram of a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) from: HopAddress,
    /// Its length.
    pub(crate) bytes: usize,
    /// True if no later datagram came before.
    pub(crate) newest: bool,
    /// True if it shows that the peer receives at its source.
    pub(crate) proven: bool,
    /// True if it is a message of a handshake.
    pub(crate) is_handshake: bool,
    /// True if it measures a round trip.
    pub(crate) is_measurement: bool,
    /// Its content, if that is about the path.
    pub(crate) message: Option<PathMessage>,
}

impl Arrival {
    /// Returns one of which nothing else is known.
    pub(crate) fn new(from: HopAddress, bytes: usize) -> Self {
        Self {
            from,
            bytes,
            newest: false,
            proven: false,
            is_handshake: false,
            is_measurement: false,
            message: None,
        }
    }
}

impl Host {
    /// Takes the source of a datagram as the peer's address, if the peer is there now and has shown that it receives
    /// there; challenges it otherwise.
    pub(crate) fn locate(&mut self, now: Instant, index: usize, arrival: Arrival) {
        let from = arrival.from;
        let is_proven = arrival.proven || planted::is(Bug::AddressMovesAtOnce);
        if let Some(PathMessage::Challenge(bits)) = arrival.message {
            // First of all: what the peer sends in reply to later datagrams shall go to the right address already.
            self.send_on_path(now, index, from, PathMessage::Answer(bits));
        }
        let peer = &mut self.peers[index];
        let in_use = peer.endpoint.filter(|at| at.is_relayed());
        if arrival.is_measurement && in_use.is_some_and(|at| at != from) {
            // The mobile host measures the path without a relay, and does not use it.
            return;
        }
        let is_answered = matches!(arrival.message, Some(PathMessage::Answer(bits))
            if self.endpoint.is_path_answer(now, peer.id, from, bits));
        if is_answered {
            self.candidate_answers(now, index, from);
            self.next_gateway_answers(now, index);
        }
        if self.is_other_path(index, from) {
            if is_answered {
                self.answered_on_other_path(now, index, from);
            }
            return;
        }
        if self.is_other_way(index, from) {
            return self.heard_on_other_way(now, index, arrival, is_answered);
        }
        if is_answered || arrival.is_handshake {
            self.way_is_proven(index, from);
        }
        let peer = &mut self.peers[index];
        let candidate = &mut peer.presence.candidate;
        let is_candidate = candidate
            .as_ref()
            .is_some_and(|candidate| candidate.at == from);
        if peer.endpoint == Some(from) {
            if candidate.is_none() && arrival.message.is_none() {
                return;
            }
            // The peer is at its address after all, or again.
            candidate.take_if(|_| arrival.newest);
        } else if (is_proven || is_answered) && (arrival.newest || is_candidate) {
            self.moved(now, index, from);
        } else if arrival.newest {
            let (round_trip, _) = peer.measured();
            let fresh = Candidate::new(now, from, round_trip);
            let candidate = match &mut peer.presence.candidate {
                Some(candidate) if is_candidate => candidate,
                candidate => candidate.insert(Box::new(fresh)),
            };
            candidate.received(arrival.bytes);
            if matches!(arrival.message, Some(PathMessage::Challenge(_))) {
                candidate.spend(MESSAGE);
            }
        }
        self.challenge(now, index);
    }

    /// Sends the challenge to the candidate of a peer, if it is due.
    fn challenge(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        if let Some(candidate) = &mut peer.presence.candidate
            && candidate.challenges(now, MESSAGE)
        {
            let at = candidate.at;
            let bits = self.endpoint.path_challenge(now, peer.id, at);
            self.send_on_path(now, index, at, PathMessage::Challenge(bits));
        }
        let candidate = &self.peers[index].presence.candidate;
        let due = candidate
            .as_ref()
            .and_then(|candidate| candidate.due(MESSAGE));
        self.agenda.challenges.set(index, due);
    }

    /// Sends the challenges that are due.
    pub(crate) fn challenge_due(&mut self, now: Instant) {
        let mut due: Vec<_> = self.agenda.challenges.due(now).collect();
        due.sort_unstable();
        for index in due {
            self.challenge(now, index);
        }
    }

    /// Sends a message about a path on that path.
    pub(super) fn send_on_path(
        &mut self,
        now: Instant,
        index: usize,
        to: HopAddress,
        message: PathMessage,
    ) {
        self.send_message(now, index, to, &message.encode());
    }

    /// Seals a message that takes the place of a frame, and sends it to this address.
    pub(super) fn send_message(
        &mut self,
        now: Instant,
        index: usize,
        to: HopAddress,
        message: &[u8],
    ) {
        let room = DATA_HEADER_BYTES + message.len() + TAG;
        let mut buffer = PacketBuffer::with_room(room, DATA_HEADER_BYTES);
        buffer.extend(message);
        buffer.grow_front(DATA_HEADER_BYTES);
        buffer.grow(TAG);
        let peer = self.peers[index].id;
        let sealed = if self.is_other_way(index, to) {
            self.endpoint.seal_beside(now, peer, &mut buffer)
        } else {
            self.endpoint.seal(now, peer, &mut buffer)
        };
        // Without keys there is nobody to send it to.
        if sealed.is_ok() {
            let ecn = Ecn::NotCapable;
            self.tap(Some(index), &Crossing::leaves(to, ecn, message));
            self.dispatch(now, to, buffer, ecn);
        }
    }

    /// Sends everything for a peer to another address from now on, as it has moved.
    fn moved(&mut self, now: Instant, index: usize, to: HopAddress) {
        let kind = self.moved_to(to);
        self.redirect_for(now, index, to, kind);
    }

    /// Does the same as [`redirect`](Self::redirect), and announces this, unless it is the first address.
    pub(super) fn redirect_for(
        &mut self,
        now: Instant,
        index: usize,
        to: HopAddress,
        kind: EventKind,
    ) {
        if self.redirect(now, index, to) {
            self.announce(index, kind);
        }
    }

    /// Sends everything for a peer to another address from now on; returns true if it had one.
    pub(super) fn redirect(&mut self, now: Instant, index: usize, to: HopAddress) -> bool {
        self.way_was_taken(now, index, to);
        let peer = &mut self.peers[index];
        peer.presence.candidate = None;
        let known = peer.endpoint.replace(to);
        // Frames of the former epoch must not leave under the keys of the next one.
        let is_over = self.endpoint.begins_anew(peer.id);
        let had_one = known.is_some_and(|known| !known.is_group());
        if had_one {
            if !is_over {
                self.path_moved(now, index);
            }
        } else if !is_over {
            self.link(now, index);
        }
        // Nothing is known of the new way out yet.
        if !is_over && std::mem::take(&mut self.peers[index].reach).is_shut() {
            self.link(now, index);
        }
        had_one
    }
}
