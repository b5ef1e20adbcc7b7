//! The window of one CUBIC flow (RFC 9438), for a hop whose queue is filled by others.

use units::{Duration, Instant};

/// Least window, in frames.
const LEAST: u64 = 4;
/// Fixed-point parts of a frame.
const PART: u64 = 1_024;

/// A congestion window, in frames.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    /// The window, in parts of a frame.
    window: u64,
    /// The window at the last reduction.
    most: u64,
    /// Time at which the window began to grow again, and its size then.
    epoch: Option<(Instant, u64)>,
    /// The window that Reno would have reached since.
    friendly: u64,
    /// Total of bytes sent when the window was last reduced.
    reduced_at: u64,
}

impl Cubic {
    /// Creates a flow with a window of `frames`, about to grow beyond it.
    pub(crate) fn new(frames: u64) -> Self {
        let window = frames.max(LEAST) * PART;
        Self {
            window,
            most: window,
            epoch: None,
            friendly: window,
            reduced_at: 0,
        }
    }

    /// Returns the window in bytes, for frames of this size.
    pub(crate) fn bytes(&self, frame: u64) -> u64 {
        self.window.saturating_mul(frame) / PART
    }

    /// Records that a frame was lost or marked. `sent_total` bytes had been sent with it, and `newest_total` so far.
    pub(crate) fn congested(&mut self, sent_total: u64, newest_total: u64) {
        if sent_total < self.reduced_at {
            return;
        }
        self.reduced_at = newest_total;
        // Fast convergence (RFC 9438 §4.7).
        self.most = if self.window < self.most {
            self.window * 17 / 20
        } else {
            self.window
        };
        self.window = (self.window * 7 / 10).max(LEAST * PART);
        self.friendly = self.window;
        self.epoch = None;
    }

    /// Records that `bytes` arrived, in frames of this size.
    pub(crate) fn arrived(&mut self, now: Instant, bytes: u64, frame: u64, round_trip: Duration) {
        let (since, begun) = *self.epoch.get_or_insert((now, self.window));
        let frames = bytes * PART / frame.max(1);
        let window = self.window.max(1);
        // Reno gets an equal share with 0.53 frames a round trip, as CUBIC keeps more than half at a reduction (RFC
        // 9438 §4.3).
        self.friendly += frames.saturating_mul(53 * PART) / (100 * window);
        let time = i128::from((now.since(since) + round_trip).as_millis());
        let below = self.most.saturating_sub(begun);
        // K = cbrt(below / 0.4) seconds, here in milliseconds.
        let reach = i128::from(cube_root(
            u128::from(below) * 2_500_000_000 / u128::from(PART),
        ));
        let offset = (time - reach).clamp(-1_000_000, 1_000_000);
        let grown = offset.pow(3) * 4 * i128::from(PART) / 10_000_000_000;
        let origin = i128::from(self.most.max(begun));
        let target = (origin + grown).clamp(i128::from(window), i128::from(window) * 3 / 2);
        let step = (target as u64 - window).saturating_mul(frames) / window;
        self.window = (window + step).max(self.friendly);
    }
}

/// Returns the largest number whose cube does not exceed `value`.
fn cube_root(value: u128) -> u64 {
    let (mut low, mut high) = (0_u128, 1_u128 << 42);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if middle * middle * middle <= value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for (value, root) in [
            (0, 0),
            (1, 1),
            (7, 1),
            (8, 2),
            (26, 2),
            (27, 3),
            (1_000_000, 100),
        ] {
            assert_eq!(cube_root(value), root);
        }
    }

    /// RFC 9438 §4.2: after a reduction from 100 frames the window is back after K = cbrt(30 / 0.4) = 4.2 s.
    #[test]
    fn it_is_back_where_it_was_reduced_after_k_seconds() {
        let mut cubic = Cubic::new(100);
        cubic.congested(1, 2);
        assert_eq!(cubic.bytes(1), 70);
        let start = Instant::from_millis(1_000);
        let round_trip = Duration::from_millis(100);
        let mut reached = None;
        for round in 0..100 {
            let now = start + round_trip * round;
            cubic.arrived(now, cubic.bytes(1_000), 1_000, round_trip);
            if cubic.bytes(1_000) >= 99_900 && reached.is_none() {
                reached = Some(now.since(start).as_millis());
            }
        }
        let reached = reached.expect("it grows");
        assert!((3_300..=4_500).contains(&reached), "{reached} ms");
    }

    #[test]
    fn losses_of_one_round_count_once() {
        let mut cubic = Cubic::new(100);
        for sent in [10, 11, 12] {
            cubic.congested(sent, 50);
        }
        assert_eq!(cubic.bytes(1), 70);
        cubic.congested(51, 90);
        assert_eq!(cubic.bytes(1), 49);
    }
}
