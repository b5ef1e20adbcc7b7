//! Where peers are, and whether they are here: registered by their first session, until they leave or are silent for
//! the life of their keys.

use association::TcpMethod;
use machine::Machine;
use serde::{Deserialize, Serialize};
use session::DropCause;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::host::Host;
use crate::peer::{Moving, Peer};
use crate::{EventKind, Role};

/// What is known of a peer's presence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presence {
    /// Where it is looked for, if it is not known where it is.
    sought: Option<HopAddress>,
    state: State,
    /// When the current keys came.
    keys_since: Option<Instant>,
    /// When anything of it came last.
    heard_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Unknown,
    Registered { since: Instant },
    Left { at: Instant },
    Expired { at: Instant },
}

/// Whether a peer is here. Times are ages at the time of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Registration {
    /// It has not been heard in this life of the host.
    Unknown,
    /// It is.
    Registered {
        /// For how long.
        lasted: Duration,
        /// How long ago anything of it came.
        heard: Duration,
        /// When its keys end, unless it renews them.
        expires_in: Duration,
    },
    /// It has said that it leaves.
    Left {
        /// How long ago.
        ago: Duration,
    },
    /// It had been silent until its keys ended.
    Expired {
        /// How long ago that was.
        ago: Duration,
    },
}

impl Presence {
    /// Nothing is known but where a peer may be.
    pub(crate) fn new(endpoint: Option<HopAddress>) -> Self {
        Self {
            sought: endpoint.filter(|endpoint| endpoint.is_group()),
            state: State::Unknown,
            keys_since: None,
            heard_at: None,
        }
    }

    /// Whether there are keys.
    pub(crate) fn is_linked(&self) -> bool {
        self.keys_since.is_some()
    }

    /// When anything of it came last.
    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.heard_at
    }

    /// How old the keys are, if there are any.
    pub(crate) fn keys_age(&self, now: Instant) -> Option<Duration> {
        self.keys_since.map(|since| now.since(since))
    }

    /// There are new keys.
    pub(crate) fn established(&mut self, now: Instant) {
        self.keys_since = Some(now);
        self.heard_at = Some(now);
        if !matches!(self.state, State::Registered { .. }) {
            self.state = State::Registered { since: now };
        }
    }

    /// The peer has said that it leaves.
    pub(crate) fn left(&mut self, now: Instant) {
        self.keys_since = None;
        self.state = State::Left { at: now };
    }

    /// Its keys have grown too old.
    pub(crate) fn expired(&mut self, now: Instant) {
        self.keys_since = None;
        self.state = State::Expired { at: now };
    }

    /// For a status; `expires_at` is when the keys end.
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
    /// The network says that nobody takes datagrams at this address.
    pub(crate) fn port_refused(&mut self, now: Instant, at: HopAddress) {
        let there = |peer: &&mut Peer| peer.endpoint == Some(at);
        for peer in self.peers.iter_mut().filter(there) {
            peer.signs.refused = Some(now);
        }
    }

    /// A datagram from this address was dropped.
    pub(crate) fn dropped(&mut self, now: Instant, from: HopAddress, cause: DropCause) {
        let there = |peer: &&mut Peer| peer.endpoint == Some(from) && !peer.presence.is_linked();
        if cause == DropCause::BadHandshake {
            for peer in self.peers.iter_mut().filter(there) {
                peer.signs.unopened = Some(now);
            }
        }
    }

    /// Something of a peer has come, so this host has a place where it can be reached; the newest of all tells
    /// where the peer is. As long as it is only looked for, any does, and so does one from a place that is tried.
    pub(crate) fn heard(&mut self, now: Instant, index: usize, (from, newest): (HopAddress, bool)) {
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

    /// Where something for a peer goes that others may see too.
    pub(crate) fn sought(&self, index: usize) -> Option<HopAddress> {
        let peer = &self.peers[index];
        peer.presence.sought.or(peer.endpoint)
    }

    /// A mobile host changes its place. A gateway has one of its own.
    pub(crate) fn link_changing(&mut self, now: Instant) {
        self.try_all(now);
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if self.role == Role::Gateway || !peer.presence.is_linked() {
                continue;
            }
            let since = peer.moving.map_or(now, |moving| moving.since);
            let arrived = false;
            if peer.moving.replace(Moving { since, arrived }).is_none() {
                self.announce(index, EventKind::HandoffBegan);
            }
        }
    }

    /// It has changed it.
    pub(crate) fn link_up(&mut self, now: Instant) {
        for peer in &mut self.peers {
            if let Some(moving) = &mut peer.moving {
                moving.arrived = true;
            }
            // A gateway does not initiate, and is told so: nothing to retry there.
            let _ = self.endpoint.retry_now(now, peer.id);
        }
        self.paths_may_have_moved(now);
        self.try_all(now);
    }

    /// This host is about to stop: whoever is here hears of it.
    pub(crate) fn leave(&mut self, now: Instant) {
        for index in 0..self.peers.len() {
            // These peers are known, and others are refused.
            let _ = self.endpoint.leave(now, self.peers[index].id);
            self.follow_sessions(now, None);
            self.part(now, index);
        }
    }

    /// Nothing links this host with a peer any more. Of what was on its way nothing will be asked for again, and a
    /// gateway does not know where its mobile host will be next.
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
