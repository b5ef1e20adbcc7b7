//! Whether datagrams can leave this host towards a peer at all: its link may be down, or no route lead there.

use machine::Machine;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::host::Host;

/// How often it is tried where nothing is known to have changed.
const TRY: Duration = Duration::from_secs(1);

/// Whether datagrams can leave for a peer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Reach {
    /// As far as is known they can.
    #[default]
    Open,
    /// They cannot; it is tried again then.
    Shut { since: Instant, next: Instant },
    /// It is being tried: if nothing is refused until then, they can.
    Trying { since: Instant, until: Instant },
}

impl Reach {
    fn is_shut(self) -> bool {
        match self {
            Self::Shut { .. } => true,
            Self::Open | Self::Trying { .. } => false,
        }
    }

    /// When it is looked at again.
    fn due(self) -> Option<Instant> {
        match self {
            Self::Open => None,
            Self::Shut { next, .. } => Some(next),
            Self::Trying { until, .. } => Some(until),
        }
    }

    /// For how long nothing has been able to leave.
    pub(crate) fn shut_for(self, now: Instant) -> Option<Duration> {
        match self {
            Self::Open | Self::Trying { .. } => None,
            Self::Shut { since, .. } => Some(now.since(since)),
        }
    }

    fn refused(self, now: Instant) -> Self {
        let next = now + TRY;
        match self {
            Self::Open => Self::Shut { since: now, next },
            Self::Shut { .. } => self,
            Self::Trying { since, .. } => Self::Shut { since, next },
        }
    }

    fn tried(self, now: Instant) -> Self {
        match self {
            Self::Open => self,
            Self::Shut { since, .. } | Self::Trying { since, .. } => Self::Trying {
                since,
                until: now + TRY,
            },
        }
    }

    fn acted(self, now: Instant) -> Self {
        match self {
            Self::Shut { next, .. } if next <= now => self.tried(now),
            Self::Trying { until, .. } if until <= now => Self::Open,
            Self::Open | Self::Shut { .. } | Self::Trying { .. } => self,
        }
    }
}

impl Host {
    /// A datagram could not leave for that address.
    pub(crate) fn refused(&mut self, now: Instant, to: HopAddress) {
        for index in 0..self.peers.len() {
            if self.peers[index].endpoint == Some(to) {
                let peer = &mut self.peers[index];
                peer.reach = peer.reach.refused(now);
                self.link(now, index);
            }
        }
    }

    /// The network of this host has changed: what could not leave may be able to.
    pub(crate) fn try_all(&mut self, now: Instant) {
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if peer.reach.is_shut() {
                peer.reach = peer.reach.tried(now);
                self.link(now, index);
            }
        }
    }

    /// Tries again what is due to be.
    pub(crate) fn try_due(&mut self, now: Instant) {
        let mut due: Vec<_> = self.agenda.tries.due(now).collect();
        due.sort_unstable();
        for index in due {
            let peer = &mut self.peers[index];
            peer.reach = peer.reach.acted(now);
            self.link(now, index);
        }
    }

    /// Tells an association whether frames of it can be sent.
    pub(crate) fn link(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        self.agenda.tries.set(index, peer.reach.due());
        let linked = peer.presence.is_linked() && !peer.reach.is_shut();
        peer.association
            .handle_input(now, association::Input::Link(linked));
        self.forward(now, index);
    }
}
