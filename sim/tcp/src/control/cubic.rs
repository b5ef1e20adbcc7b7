//! CUBIC (RFC 9438) with `HyStart`++ and proportional rate reduction.

use units::{Duration, Instant};

use super::hystart::HyStart;
use super::proportional::Proportional;
use super::{Phase, Sample};
use crate::config::Congestion;

/// The window after a loss, as a fraction of the one before (RFC 9438 §4.6).
const KEPT: (u64, u64) = (7, 10);
/// Factor of fast convergence for the remembered window: (1 + 0.7) / 2.
const CONVERGED: (u64, u64) = (17, 20);
/// Scaling constant C of the cube, in segments per cubic second, as a fraction.
const STEEPNESS: (u64, u64) = (4, 10);
/// Growth of Reno's window in a round trip for equal throughput: 3 (1 - 0.7) / (1 + 0.7) of a segment (§4.3).
const RENO: (u64, u64) = (9, 17);
/// One cubic second in cubic milliseconds.
const CUBED: u128 = 1_000_000_000;
const WINDOW_MAX: u64 = 1 << 30;

/// An epoch of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    /// Window at the flat part of the cube, in bytes, and time to reach it, in milliseconds.
    plateau: u64,
    flat_at: u64,
    /// Estimate of Reno's window, in bytes.
    reno: u64,
    /// Window below which Reno's window grows at the slower rate [`RENO`].
    slow_below: u64,
    /// Remainders below a whole byte, of both windows.
    rest: (u64, u64),
}

/// State before a loss.
#[derive(Debug, Clone, Copy)]
struct Before {
    window: u64,
    threshold: u64,
    plateau: u64,
}

/// State of CUBIC.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    settings: Congestion,
    segment: u64,
    window: u64,
    threshold: u64,
    /// Window before the last loss.
    plateau: u64,
    epoch: Option<Epoch>,
    /// True if a timeout caused the last reduction.
    timed_out: bool,
    before: Option<Before>,
    start: HyStart,
    reduction: Option<Proportional>,
    sent_at: Option<Instant>,
}

impl Cubic {
    pub(super) fn new(settings: &Congestion) -> Self {
        Self {
            settings: settings.clone(),
            segment: 1,
            window: settings.initial_window.into(),
            threshold: u64::MAX,
            plateau: 0,
            epoch: None,
            timed_out: false,
            before: None,
            start: HyStart::new(),
            reduction: None,
            sent_at: None,
        }
    }

    pub(super) fn agreed(&mut self, segment: u64) {
        self.segment = segment;
        self.window = segment * u64::from(self.settings.initial_window);
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn threshold(&self) -> u64 {
        self.threshold
    }

    pub(super) fn on_sent(&mut self, now: Instant, size: u64, in_flight: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(size);
        }
        // The window must not grow for the time of a pause.
        if let (Some(epoch), Some(last), 0) = (&mut self.epoch, self.sent_at, in_flight) {
            epoch.start = (epoch.start + now.since(last)).min(now);
        }
        self.sent_at = Some(now);
    }

    fn reduce(&mut self) {
        self.before = Some(Before {
            window: self.window,
            threshold: self.threshold,
            plateau: self.plateau,
        });
        // Fast convergence (§4.7): a sender that had less than the last time makes room.
        self.plateau = if self.window < self.plateau {
            self.window * CONVERGED.0 / CONVERGED.1
        } else {
            self.window
        };
        self.threshold = (self.window * KEPT.0 / KEPT.1).max(2 * self.segment);
        self.epoch = None;
    }

    pub(super) fn on_congestion(&mut self, in_flight: u64) {
        self.reduce();
        self.timed_out = false;
        let before = in_flight.max(self.threshold);
        self.reduction = Some(Proportional::new(before, self.threshold));
    }

    pub(super) fn on_timeout(&mut self, first: bool) {
        if first {
            self.reduce();
        }
        self.timed_out = true;
        self.reduction = None;
        self.window = self.segment;
    }

    pub(super) fn on_recovered(&mut self) {
        if self.reduction.take().is_some() {
            self.window = self.threshold;
        }
    }

    pub(super) fn on_false_alarm(&mut self) {
        self.reduction = None;
        if let Some(before) = self.before.take() {
            self.window = self.window.max(before.window);
            self.threshold = self.threshold.max(before.threshold);
            self.plateau = self.plateau.max(before.plateau);
            self.epoch = None;
        }
    }

    /// Halves the window for each timeout that passed in a pause (RFC 2861, as kernels do).
    pub(super) fn on_pause(&mut self, timeouts: u64) {
        if !self.settings.restart_after_idle || timeouts == 0 {
            return;
        }
        let initial = self.segment * u64::from(self.settings.initial_window);
        self.threshold = self.threshold.max(self.window * 3 / 4);
        let halved = self.window >> timeouts.min(32);
        self.window = halved.max(initial.min(self.window));
    }

    pub(super) fn on_acknowledgment(&mut self, sample: &Sample) {
        if let (Some(reduction), Phase::Recovery(_)) = (&mut self.reduction, sample.phase) {
            let calm = sample.lost == 0;
            self.window = reduction.window(sample.arrived, sample.in_flight, self.segment, calm);
            return;
        }
        if !sample.window_limited || sample.arrived == 0 {
            return;
        }
        if self.window < self.threshold {
            match self.start.grow(sample, self.segment) {
                Some(more) => self.window = (self.window + more).min(self.threshold),
                None => self.threshold = self.window,
            }
        } else {
            self.avoid(sample);
        }
        self.window = self.window.min(WINDOW_MAX);
    }

    /// Grows the window in congestion avoidance (§4.2 to §4.5).
    fn avoid(&mut self, sample: &Sample) {
        let (window, segment) = (self.window, self.segment);
        let epoch = match &mut self.epoch {
            Some(epoch) => epoch,
            none => none.insert(Epoch::begin(
                sample.now,
                window,
                segment,
                // After a timeout the cube starts at its flat part (§4.8).
                if self.timed_out { 0 } else { self.plateau },
            )),
        };
        let reno = epoch.reno_after(sample.arrived, window, segment);
        let ahead = sample.round_trip.unwrap_or(Duration::ZERO);
        let cube = epoch.cube(sample.now + ahead, segment);
        if epoch.cube(sample.now, segment) < reno {
            self.window = window.max(reno);
            return;
        }
        let more = cube.clamp(window, window + window / 2) - window;
        let credit = more * sample.arrived + epoch.rest.0;
        epoch.rest.0 = credit % window;
        self.window = window + credit / window;
    }
}

impl Epoch {
    fn begin(now: Instant, window: u64, segment: u64, plateau: u64) -> Self {
        let plateau = plateau.max(window);
        let missing = u128::from(plateau - window) * u128::from(STEEPNESS.1) * CUBED;
        let cubed = missing / (u128::from(STEEPNESS.0) * u128::from(segment));
        Self {
            start: now,
            plateau,
            flat_at: cube_root(cubed),
            reno: window,
            slow_below: plateau,
            rest: (0, 0),
        }
    }

    /// Returns the cube's window at a time, in bytes.
    fn cube(&self, at: Instant, segment: u64) -> u64 {
        let passed = at.since(self.start).as_millis().min(1 << 30);
        let far = u128::from(passed.abs_diff(self.flat_at));
        let segments = far * far * far * u128::from(STEEPNESS.0);
        let bytes = segments * u128::from(segment) / (u128::from(STEEPNESS.1) * CUBED);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).min(WINDOW_MAX);
        if passed < self.flat_at {
            self.plateau.saturating_sub(bytes)
        } else {
            self.plateau + bytes
        }
    }

    /// Returns Reno's window after `arrived` more bytes were delivered.
    fn reno_after(&mut self, arrived: u64, window: u64, segment: u64) -> u64 {
        let (part, whole) = if self.reno < self.slow_below {
            RENO
        } else {
            (1, 1)
        };
        let credit = arrived * segment * part + self.rest.1;
        self.rest.1 = credit % (window * whole);
        self.reno += credit / (window * whole);
        self.reno
    }
}

/// Returns the largest whole number whose cube is not more than `value`.
fn cube_root(value: u128) -> u64 {
    let (mut low, mut high) = (0_u64, 1 << 42);
    while low < high {
        let middle = u64::midpoint(low, high + 1);
        let wide = u128::from(middle);
        if wide * wide * wide <= value {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::cube_root;

    #[test]
    fn cube_roots_are_whole_and_not_too_large() {
        for root in [0_u64, 1, 2, 9, 10, 1_000, 123_456, 2_000_000_000] {
            let cube = u128::from(root) * u128::from(root) * u128::from(root);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 1), root.max(1));
            assert_eq!(cube_root(cube.saturating_sub(1)), root.saturating_sub(1));
        }
    }
}
