//! The ability of datagrams to leave this host for a peer: its link may be down, or there is no route.

use machine::Machine;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::host::Host;

/// Time between tries while nothing is known to have changed.
const TRY: Duration = Duration::from_secs(1);

/// State of the way out to a peer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Reach {
    /// Datagrams can leave, as far as is known.
    #[default]
    Open,
    /// They cannot; the next try is at `next`.
    Shut { since: Instant, next: Instant },
    /// A try: if nothing is refused until `until`, they can.
    Trying { since: Instant, until: Instant },
}

impl Reach {
    fn is_shut(self) -> bool {
        match self {
            Self::Shut { .. } => true,
            Self::Open | Self::Trying { .. } => false,
        }
    }

    /// Returns the time of the next change.
    fn due(self) -> Option<Instant> {
        match self {
            Self::Open => None,
            Self::Shut { next, .. } => Some(next),
            Self::Trying { until, .. } => Some(until),
        }
    }

    /// Returns the time for which nothing has been able to leave.
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
    /// Records that a datagram for that address could not leave.
    pub(crate) fn refused(&mut self, now: Instant, to: HopAddress) {
        for index in 0..self.peers.len() {
            if self.peers[index].endpoint == Some(to) {
                let peer = &mut self.peers[index];
                peer.reach = peer.reach.refused(now);
                self.link(now, index);
            }
        }
    }

    /// Tries all peers again that could not be reached: the network of this host has changed.
    pub(crate) fn try_all(&mut self, now: Instant) {
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if peer.reach.is_shut() {
                peer.reach = peer.reach.tried(now);
                self.link(now, index);
            }
        }
    }

    /// Tries those peers again that are due.
    pub(crate) fn try_due(&mut self, now: Instant) {
        let mut due: Vec<_> = self.agenda.tries.due(now).collect();
        due.sort_unstable();
        for index in due {
            let peer = &mut self.peers[index];
            peer.reach = peer.reach.acted(now);
            self.link(now, index);
        }
    }

    /// Sets in an association whether its frames can be sent.
    pub(crate) fn link(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        self.agenda.tries.set(index, peer.reach.due());
        let linked = peer.presence.is_linked() && !peer.reach.is_shut();
        peer.association
            .handle_input(now, association::Input::Link(linked));
        self.forward(now, index);
    }
}
