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

/// Part of the silence so far that passes before the next attempt, if attempts back off.
const SILENCE_PART: u64 = 4;

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
    /// Set if attempts without an answer follow each other ever more slowly ([`Timing::back_off`]).
    ///
    /// [`Timing::back_off`]: crate::config::Timing::back_off
    back_off: bool,
    /// Time at which the timer has expired first, if no answer has arrived since.
    unanswered: Option<Instant>,
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
            back_off: timing.back_off,
            unanswered: None,
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
            Clock::Measured => now + self.wait(held, now),
        });
    }

    /// Returns the timeout with [`Clock::Measured`]. Deviations count until it expires: from then on a loss is
    /// certain, and one round trip is enough for each further attempt, unless attempts back off.
    fn wait(&self, held: Held, now: Instant) -> Duration {
        let silence = self.unanswered.map(|first| now.since(first));
        let slower = silence.filter(|_| self.back_off).unwrap_or_default() / SILENCE_PART;
        let Some(smoothed) = self.round_trip.smoothed() else {
            return self.timeout().max(slower);
        };
        if silence.is_some() {
            return smoothed.max(self.minimum).max(slower);
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
    pub(super) fn went_off(&mut self, now: Instant) {
        self.deadline = None;
        self.unanswered.get_or_insert(now);
    }

    /// Notes that the peer has answered with something new.
    pub(super) fn answered(&mut self) {
        self.unanswered = None;
    }
}
