//! The ability of datagrams to leave this host for a peer: its link may be down, or there is no route.

use units::{Duration, Instant};

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
    pub(crate) fn is_shut(self) -> bool {
        match self {
            Self::Shut { .. } => true,
            Self::Open | Self::Trying { .. } => false,
        }
    }

    /// Returns the time of the next change.
    pub(crate) fn due(self) -> Option<Instant> {
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

    pub(crate) fn refused(self, now: Instant) -> Self {
        let next = now + TRY;
        match self {
            Self::Open => Self::Shut { since: now, next },
            Self::Shut { .. } => self,
            Self::Trying { since, .. } => Self::Shut { since, next },
        }
    }

    pub(crate) fn tried(self, now: Instant) -> Self {
        match self {
            Self::Open => self,
            Self::Shut { since, .. } | Self::Trying { since, .. } => Self::Trying {
                since,
                until: now + TRY,
            },
        }
    }

    pub(crate) fn acted(self, now: Instant) -> Self {
        match self {
            Self::Shut { next, .. } if next <= now => self.tried(now),
            Self::Trying { until, .. } if until <= now => Self::Open,
            Self::Open | Self::Shut { .. } | Self::Trying { .. } => self,
        }
    }
}
