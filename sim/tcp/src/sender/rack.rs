//! RACK (RFC 8985): a segment is lost if one that was sent sufficiently later has arrived.

use units::{Duration, Instant};

use super::transmissions::{Found, Transmissions};

/// Number of segments beyond a gap that show a loss at once, as long as no reordering was seen.
const ENOUGH: usize = 3;
/// Time for which the smallest round trip is valid.
const BELIEVED: Duration = Duration::from_secs(300);
const STEPS_MAX: u64 = 64;

/// State of loss detection.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// Time of transmission and end of the arrived segment that was sent last.
    latest: Option<(Instant, u64)>,
    /// Round-trip time of that segment.
    round_trip: Duration,
    least: Option<(Duration, Instant)>,
    reordered: bool,
    /// Reordering window, in quarters of the smallest round trip.
    steps: u64,
    /// Time at which more segments are lost unless they arrive before.
    deadline: Option<Instant>,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            latest: None,
            round_trip: Duration::ZERO,
            least: None,
            reordered: false,
            steps: 1,
            deadline: None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the smallest round trip; zero before there is one.
    pub(super) fn least(&self) -> Duration {
        self.least.map_or(Duration::ZERO, |(least, _)| least)
    }

    /// Widens the reordering window: segments taken for lost had only been late.
    pub(super) fn widen_reordering_window(&mut self) {
        self.reordered = true;
        self.steps = (self.steps + 1).min(STEPS_MAX);
    }

    pub(super) fn update(&mut self, found: &Found, now: Instant) {
        if let Some(round_trip) = found.round_trip {
            let better = self
                .least
                .is_none_or(|(least, at)| round_trip < least || now.since(at) > BELIEVED);
            if better {
                self.least = Some((round_trip, now));
            }
        }
        if let Some(latest) = found.latest.filter(|latest| self.latest < Some(*latest)) {
            self.latest = Some(latest);
            self.round_trip = now.since(latest.0);
        }
        self.reordered |= found.reordered;
    }

    /// Declares segments lost; returns the number of bytes. `eager` during a recovery.
    pub(super) fn detect(
        &mut self,
        transmissions: &mut Transmissions,
        now: Instant,
        eager: bool,
        smoothed: Duration,
    ) -> u64 {
        self.deadline = None;
        let Some((latest, end)) = self.latest else {
            return 0;
        };
        let patience = if !self.reordered && (eager || transmissions.arrived() >= ENOUGH) {
            Duration::ZERO
        } else {
            (self.least() * self.steps / 4).min(smoothed)
        };
        let mut lost = 0;
        while let Some(oldest) = transmissions.oldest() {
            if (oldest.sent_at, oldest.span.end) >= (latest, end) {
                break;
            }
            let due = oldest.sent_at + self.round_trip + patience;
            if due > now {
                self.deadline = Some(due);
                break;
            }
            lost += transmissions.lose_oldest();
        }
        lost
    }
}
