//! When to send again.

use units::{Duration, Instant};

use crate::config::Clock;
use crate::round_trip::RoundTrip;
use crate::tick::{Ticks, longest_delay};
use crate::{Config, Profile};

/// What the other end may wait for with its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Nothing.
    Not,
    /// Its last answer being long enough ago.
    Spaced,
    /// Another packet.
    Alone,
}

/// The retransmission timer.
#[derive(Debug, Clone)]
pub(crate) struct RetransmissionClock {
    pub(crate) round_trip: RoundTrip,
    ticks: Ticks,
    initial: Duration,
    minimum: Duration,
    /// What it goes by.
    by: Clock,
    /// Where that is what is measured: how long the other end may wait with its answer to packets that come fast.
    spacing: Duration,
    /// It keeps no timers.
    lean: bool,
    /// It went off, and nothing was heard since.
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

    /// The handshake agreed on `profile`.
    pub(super) fn agreed(&mut self, profile: Profile) {
        self.by = self.by.within(profile);
    }

    pub(super) fn is_lean(&self) -> bool {
        self.lean
    }

    /// The retransmission timeout.
    pub(crate) fn timeout(&self) -> Duration {
        let timeout = self.round_trip.timeout().unwrap_or(self.initial);
        timeout.max(self.minimum)
    }

    /// Whether it is left with what nothing follows, as in QUIC (RFC 9002 §6.2.1), and each packet with data starts it
    /// anew: while packets go out that are told apart, the next one that arrives shows what is lost.
    pub(super) fn is_for_tails(&self) -> bool {
        self.by == Clock::Measured
    }

    /// Starts again, where the answer may be `held` back.
    pub(super) fn restart(&mut self, held: Held, now: Instant) {
        self.deadline = (!self.lean).then(|| match self.by {
            Clock::Ticks => self.ticks.after(now, self.timeout()),
            Clock::Measured => now + self.wait(held),
        });
    }

    /// What it waits where it goes by round trips. Deviations count until it goes off: from then on it is known that
    /// something is wrong, and a round trip is enough for each further attempt.
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
            // Packets that are on their way at one time come at most a round trip apart.
            Held::Alone => longest_delay(smoothed),
        };
        self.timeout() + delay
    }

    /// It went off. What is sent now starts it, which may have to wait for room on the hop.
    pub(super) fn went_off(&mut self) {
        self.deadline = None;
        self.unanswered = true;
    }

    /// The other end was heard of something new.
    pub(super) fn answered(&mut self) {
        self.unanswered = false;
    }
}
