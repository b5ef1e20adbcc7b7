//! The places of peers and their registration: by their first session, until they leave or are silent for the life of
//! their keys.

use association::TcpMethod;
use machine::Machine;
use serde::{Deserialize, Serialize};
use session::DropCause;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::host::Host;
use crate::peer::{HandOff, Peer};
use crate::{EventKind, Role};

/// Presence of a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presence {
    /// Group address at which it is sought, if its own is not known.
    sought: Option<HopAddress>,
    state: State,
    /// Time when the current keys were made.
    keys_since: Option<Instant>,
    /// Time when the last datagram came from it.
    heard_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Unknown,
    Registered { since: Instant },
    Left { at: Instant },
    Expired { at: Instant },
}

/// Registration of a peer. Times are ages at the time of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Registration {
    /// Nothing has been received from it since this host started.
    Unknown,
    /// The peer is registered.
    Registered {
        /// Time since its registration.
        lasted: Duration,
        /// Time since the last datagram from it.
        heard: Duration,
        /// Time until its keys expire, unless it renews them.
        expires_in: Duration,
    },
    /// It reported that it leaves.
    Left {
        /// Time since then.
        ago: Duration,
    },
    /// It was silent until its keys expired.
    Expired {
        /// Time since then.
        ago: Duration,
    },
}

impl Presence {
    /// Returns the presence of a peer of which only an address is known, if any.
    pub(crate) fn new(endpoint: Option<HopAddress>) -> Self {
        Self {
            sought: endpoint.filter(|endpoint| endpoint.is_group()),
            state: State::Unknown,
            keys_since: None,
            heard_at: None,
        }
    }

    /// Returns true if there are keys.
    pub(crate) fn is_linked(&self) -> bool {
        self.keys_since.is_some()
    }

    /// Returns the time when the last datagram came from it.
    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.heard_at
    }

    /// Returns the age of the keys, if there are any.
    pub(crate) fn keys_age(&self, now: Instant) -> Option<Duration> {
        self.keys_since.map(|since| now.since(since))
    }

    /// Records new keys.
    pub(crate) fn established(&mut self, now: Instant) {
        self.keys_since = Some(now);
        self.heard_at = Some(now);
        if !matches!(self.state, State::Registered { .. }) {
            self.state = State::Registered { since: now };
        }
    }

    /// Records that the peer has left.
    pub(crate) fn left(&mut self, now: Instant) {
        self.keys_since = None;
        self.state = State::Left { at: now };
    }

    /// Records that its keys have expired.
    pub(crate) fn expired(&mut self, now: Instant) {
        self.keys_since = None;
        self.state = State::Expired { at: now };
    }

    /// Returns the registration for a status; `expires_at` is the time when the keys expire.
    pub(crate) fn registration(&self, now: Instant, expires_at: Option<Instant>) -> Registration {
        match self.state {
            State::Unknown => Registration::Unknown,
            State::Registered { since } => Registration::Registered {
                lasted: now.since(since),
                heard: now.since(self.heard_at.unwrap_or(since)),
                expires_in: expires_at.map_or(Duration::ZERO, |at| at.since(now)),
            },
            State::Left { at } => Registration::Left { ago: now.since(at) },
            State::Expired { at } => Registration::Expired { ago: now.since(at) },
        }
    }
}

impl Host {
    /// Records that the network reports no process at this address.
    pub(crate) fn port_refused(&mut self, now: Instant, at: HopAddress) {
        let there = |peer: &&mut Peer| peer.endpoint == Some(at);
        for peer in self.peers.iter_mut().filter(there) {
            peer.signs.refused = Some(now);
        }
    }

    /// Records that a datagram from this address was dropped.
    pub(crate) fn dropped(&mut self, now: Instant, from: HopAddress, cause: DropCause) {
        let there = |peer: &&mut Peer| peer.endpoint == Some(from) && !peer.presence.is_linked();
        if cause == DropCause::BadHandshake {
            for peer in self.peers.iter_mut().filter(there) {
                peer.signs.unopened = Some(now);
            }
        }
    }

    /// Records a datagram from a peer, so this host has a place where it can be reached; the datagram with the
    /// highest number shows the address of the peer. While the peer is only sought, any datagram does, and so does
    /// one from an address that is tried.
    pub(crate) fn heard(&mut self, now: Instant, index: usize, from: HopAddress, newest: bool) {
        let peer = &mut self.peers[index];
        peer.presence.heard_at = Some(now);
        let is_found = peer.search.heard(from);
        let is_sought = peer.endpoint.is_some_and(HopAddress::is_group);
        let known = (newest || is_sought || is_found).then(|| peer.endpoint.replace(from));
        let moved = known
            .flatten()
            .is_some_and(|known| !is_sought && known != from);
        if let Some(moving) = peer.moving.take_if(|moving| moving.arrived) {
            let lasted = now.since(moving.since);
            self.announce(index, EventKind::HandoffEnded { lasted });
        }
        if moved {
            self.path_moved(now, index);
            self.announce(index, EventKind::Moved { to: from });
        }
    }

    /// Returns the destination for a datagram to a peer that others may see too.
    pub(crate) fn sought(&self, index: usize) -> Option<HopAddress> {
        let peer = &self.peers[index];
        peer.presence.sought.or(peer.endpoint)
    }

    /// Begins the hand-off of a mobile host. A gateway keeps its place.
    pub(crate) fn link_changing(&mut self, now: Instant) {
        self.try_all(now);
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if self.role == Role::Gateway || !peer.presence.is_linked() {
                continue;
            }
            let since = peer.moving.map_or(now, |moving| moving.since);
            let arrived = false;
            if peer.moving.replace(HandOff { since, arrived }).is_none() {
                self.announce(index, EventKind::HandoffBegan);
            }
        }
    }

    /// Completes the change of place.
    pub(crate) fn link_up(&mut self, now: Instant) {
        for peer in &mut self.peers {
            if let Some(moving) = &mut peer.moving {
                moving.arrived = true;
            }
            // A gateway does not initiate and is refused: there is nothing to retry.
            let _ = self.endpoint.retry_now(now, peer.id);
        }
        self.paths_may_have_moved(now);
        self.try_all(now);
    }

    /// Notifies all peers that this host is about to stop.
    pub(crate) fn leave(&mut self, now: Instant) {
        for index in 0..self.peers.len() {
            // These peers are known, and only others are refused.
            let _ = self.endpoint.leave(now, self.peers[index].id);
            self.follow_sessions(now, None);
            self.part(now, index);
        }
    }

    /// Ends the link with a peer. Data in flight will not be requested again, and a gateway does not know the next
    /// address of its mobile host.
    pub(crate) fn part(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        peer.presence.left(now);
        peer.moving = None;
        if self.role == Role::Gateway {
            peer.endpoint = None;
        }
        let fresh = self
            .bearer
            .association(peer.endpoint, TcpMethod::Arq, &peer.caps);
        peer.association = fresh.after(&mut peer.association);
        peer.association
            .handle_input(now, association::Input::Link(false));
        self.agenda.touch(index, &self.peers);
        self.renew_streams(now, index, None);
    }
}
