//! RACK (RFC 8985): a segment is lost when one that was sent sufficiently later has arrived.

use units::{Duration, Instant};

use super::transmissions::{Found, Transmissions};

/// Segments beyond a gap that show a loss at once, as long as nothing was ever reordered.
const ENOUGH: usize = 3;
/// How long the least round trip is believed.
const BELIEVED: Duration = Duration::from_secs(300);
const STEPS_MAX: u64 = 64;

/// The detection of losses.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// When the one of those that arrived was sent that was sent last, and where it ends.
    latest: Option<(Instant, u64)>,
    /// Its round trip.
    round_trip: Duration,
    least: Option<(Duration, Instant)>,
    reordered: bool,
    /// How many quarters of the least round trip segments may come late.
    steps: u64,
    /// When more is lost unless it arrives before.
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

    /// The least round trip; zero before there is one.
    pub(super) fn least(&self) -> Duration {
        self.least.map_or(Duration::ZERO, |(least, _)| least)
    }

    /// What was taken for lost had only been late.
    pub(super) fn be_patient(&mut self) {
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

    /// Takes for lost what is; returns how many bytes. `eager` while a recovery goes on.
    pub(super) fn detect(
        &mut self,
        transmissions: &mut Transmissions,
        now: Instant,
        (eager, smoothed): (bool, Duration),
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
