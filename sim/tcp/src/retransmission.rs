//! The retransmission timer, its back-off, and the persist timer.

use units::{Duration, Instant};

use crate::Timing;
use crate::clock::Clock;
use crate::round_trip::RoundTrip;

/// Number of timeouts after which the measured round trip is discarded.
const ROUND_TRIP_DOUBTED: u32 = 3;
/// Largest number of doublings of a timeout.
const DOUBLINGS_MAX: u32 = 6;

/// A segment whose acknowledgement gives a round-trip sample.
#[derive(Debug, Clone, Copy)]
struct Timed {
    start: u64,
    tick: u64,
    at: Instant,
}

/// The sender's timers.
#[derive(Debug, Clone)]
pub(crate) struct Retransmission {
    timing: Timing,
    round_trip: RoundTrip,
    timed: Option<Timed>,
    /// Number of consecutive timeouts; by Karn's rule only a segment that was sent once ends the row.
    row: u32,
    /// Number of timeouts since the last acknowledgement of new data.
    tries: u32,
    /// The timeout, in ticks.
    timeout: u64,
    deadline: Option<Instant>,
    persist: Option<Instant>,
    probes: u32,
}

impl Retransmission {
    pub(crate) fn new(timing: &Timing, clock: &Clock) -> Self {
        Self {
            timing: timing.clone(),
            round_trip: RoundTrip::default(),
            timed: None,
            row: 0,
            tries: 0,
            timeout: clock.covering(timing.initial_timeout).max(1),
            deadline: None,
            persist: None,
            probes: 0,
        }
    }

    pub(crate) fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// Returns the current timeout, back-off included.
    pub(crate) fn timeout(&self, clock: &Clock) -> Duration {
        clock.tick() * self.timeout
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn persist_deadline(&self) -> Option<Instant> {
        self.persist
    }

    /// Returns true if either timer runs.
    pub(crate) fn is_running(&self) -> bool {
        self.deadline.is_some() || self.persist.is_some()
    }

    /// Restarts the retransmission timer.
    pub(crate) fn restart(&mut self, clock: &Clock) {
        self.deadline = Some(clock.after(self.timeout));
        self.persist = None;
    }

    /// Starts the retransmission timer unless it runs.
    pub(crate) fn ensure(&mut self, clock: &Clock) {
        if self.deadline.is_none() {
            self.restart(clock);
        }
    }

    pub(crate) fn stop(&mut self) {
        self.deadline = None;
    }

    /// Times the segment that starts at `start`, unless a segment is timed already.
    pub(crate) fn time(&mut self, start: u64, clock: &Clock) {
        if self.timed.is_none() {
            self.timed = Some(Timed {
                start,
                tick: clock.count(),
                at: clock.now(),
            });
        }
    }

    /// Stops timing after a retransmission: its acknowledgement would be ambiguous (Karn).
    pub(crate) fn do_not_time(&mut self) {
        self.timed = None;
    }

    /// Handles the acknowledgement of everything before `position`; `echo` is the tick that a timestamp echoed.
    pub(crate) fn acknowledged(&mut self, position: u64, echo: Option<u64>, clock: &Clock) {
        self.tries = 0;
        if let Some(timed) = self.timed.filter(|timed| timed.start < position) {
            self.timed = None;
            let tick = echo.unwrap_or(timed.tick);
            let span = clock.now().since(timed.at);
            self.sampled(clock.count().saturating_sub(tick), span, clock);
        } else if let Some(tick) = echo {
            let ticks = clock.count().saturating_sub(tick);
            self.sampled(ticks, clock.tick() * ticks, clock);
        }
    }

    fn sampled(&mut self, ticks: u64, span: Duration, clock: &Clock) {
        self.round_trip.sample(ticks, span);
        self.row = 0;
        self.timeout = self.backed_off(clock);
    }

    /// Returns the timeout with the back-off for the current number of consecutive timeouts.
    fn backed_off(&self, clock: &Clock) -> u64 {
        let margin = clock.covering(self.timing.minimum_margin);
        let base = self.round_trip.timeout(margin);
        let base = base.unwrap_or_else(|| clock.covering(self.timing.initial_timeout));
        let least = clock.covering(self.timing.minimum_timeout).max(1);
        let most = clock.covering(self.timing.maximum_timeout).max(least);
        // The limits come last, as in BSD: a base below the minimum doubles unseen.
        let doubled = base.saturating_mul(1 << self.row.min(DOUBLINGS_MAX));
        doubled.clamp(least, most)
    }

    /// Handles the retransmission timeout. Returns false if there were too many.
    pub(crate) fn expired(&mut self, clock: &Clock) -> bool {
        self.deadline = None;
        self.timed = None;
        self.row = self.row.saturating_add(1);
        self.tries += 1;
        self.timeout = self.backed_off(clock);
        if self.row > ROUND_TRIP_DOUBTED {
            self.round_trip.forget();
        }
        self.tries <= self.timing.retries
    }

    /// Starts the persist timer, with a longer time after each probe.
    pub(crate) fn start_persist(&mut self, clock: &Clock) {
        let base = self.round_trip.timeout(0).unwrap_or(self.timeout);
        let least = clock.covering(self.timing.minimum_persist).max(1);
        let most = clock.covering(self.timing.maximum_persist).max(least);
        let ticks = base.saturating_mul(1 << self.probes.min(DOUBLINGS_MAX));
        self.persist = Some(clock.after(ticks.clamp(least, most)));
        self.probes = self.probes.saturating_add(1);
    }

    /// Handles the persist timeout.
    pub(crate) fn persist_expired(&mut self) {
        self.persist = None;
    }

    /// Ends probing, as the window has opened.
    pub(crate) fn end_persist(&mut self) {
        self.persist = None;
        self.probes = 0;
    }
}
