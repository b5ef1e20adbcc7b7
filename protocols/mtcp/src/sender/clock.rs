//! The retransmission timer.

use units::{Duration, Instant};

use crate::config::Clock;
use crate::round_trip::RoundTrip;
use crate::tick::{Ticks, longest_delay};
use crate::{Config, Profile};

/// Reason why the peer may delay its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// It does not delay it.
    Not,
    /// Its last answer must be long enough ago.
    Spaced,
    /// It waits for another packet.
    Alone,
}

/// Retransmission timer.
#[derive(Debug, Clone)]
pub(crate) struct RetransmissionClock {
    pub(crate) round_trip: RoundTrip,
    ticks: Ticks,
    initial: Duration,
    minimum: Duration,
    /// Clock of the timer.
    by: Clock,
    /// Longest delay of the peer's answer to packets that come fast; used with [`Clock::Measured`].
    spacing: Duration,
    /// Set if this end keeps no timers.
    lean: bool,
    /// Set if the timer has expired, and no answer has arrived since.
    unanswered: bool,
    pub(crate) deadline: Option<Instant>,
}

impl RetransmissionClock {
    pub(super) fn new(config: &Config, profile: Profile) -> Self {
        let timing = &config.timing;
        Self {
            round_trip: RoundTrip::default(),
            ticks: Ticks::new(timing),
            initial: timing.first_timeout(),
            minimum: timing.minimum_timeout,
            by: timing.clock.within(profile),
            spacing: config.acknowledging.spacing,
            lean: config.lean,
            unanswered: false,
            deadline: None,
        }
    }

    /// Applies the profile of the handshake.
    pub(super) fn agreed(&mut self, profile: Profile) {
        self.by = self.by.within(profile);
    }

    pub(super) fn is_lean(&self) -> bool {
        self.lean
    }

    /// Returns the retransmission timeout.
    pub(crate) fn timeout(&self) -> Duration {
        let timeout = self.round_trip.timeout().unwrap_or(self.initial);
        timeout.max(self.minimum)
    }

    /// Returns true if the timer only covers the last packets of a burst, as in QUIC (RFC 9002 §6.2.1), and each
    /// packet with data restarts it: while packets with their own numbers go out, the next one that arrives shows
    /// which are lost.
    pub(super) fn is_for_tails(&self) -> bool {
        self.by == Clock::Measured
    }

    /// Restarts the timer, if the answer may be `held` back.
    pub(super) fn restart(&mut self, held: Held, now: Instant) {
        self.deadline = (!self.lean).then(|| match self.by {
            Clock::Ticks => self.ticks.after(now, self.timeout()),
            Clock::Measured => now + self.wait(held),
        });
    }

    /// Returns the timeout with [`Clock::Measured`]. Deviations count until it expires: from then on a loss is
    /// certain, and one round trip is enough for each further attempt.
    fn wait(&self, held: Held) -> Duration {
        let Some(smoothed) = self.round_trip.smoothed() else {
            return self.timeout();
        };
        if self.unanswered {
            return smoothed.max(self.minimum);
        }
        let delay = match held {
            Held::Not => Duration::ZERO,
            Held::Spaced => self.spacing,
            // Packets in flight at one time are at most a round trip apart.
            Held::Alone => longest_delay(smoothed),
        };
        self.timeout() + delay
    }

    /// Notes that the timer has expired. The retransmission restarts it, and may have to wait for room on the hop.
    pub(super) fn went_off(&mut self) {
        self.deadline = None;
        self.unanswered = true;
    }

    /// Notes that the peer has answered with something new.
    pub(super) fn answered(&mut self) {
        self.unanswered = false;
    }
}
