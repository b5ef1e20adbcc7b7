//! `HyStart`++ (RFC 9406): slow start ends when the round trip grows, before the queue is full.

use units::Duration;

use super::Sample;

/// Samples that a round needs.
const SAMPLES: u32 = 8;
/// The growth of the round trip that counts: an eighth of it, within these.
const GROWTH_MIN: Duration = Duration::from_millis(4);
const GROWTH_MAX: Duration = Duration::from_millis(16);
/// Conservative slow start grows by a quarter of what slow start would, for so many rounds.
const DIVISOR: u64 = 4;
const ROUNDS: u32 = 5;
/// Segments that an acknowledgement adds at most, where nothing is paced.
const SEGMENTS: u64 = 8;

/// How slow start goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Slow,
    /// The round trip has grown from this; rounds since.
    Conservative(Duration, u32),
}

/// Slow start with a look at round trips.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    stage: Stage,
    /// Bytes that had arrived at the end of this round's first flight.
    round_end: u64,
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Slow,
            round_end: 0,
            last: None,
            current: None,
            samples: 0,
        }
    }

    /// What the window grows by, in bytes; nothing when slow start is over.
    pub(super) fn grow(&mut self, sample: &Sample, segment: u64) -> Option<u64> {
        if sample.delivery.is_some_and(|d| d.before >= self.round_end) && !self.begin_round(sample)
        {
            return None;
        }
        if let Some(round_trip) = sample.round_trip {
            self.samples += 1;
            let least = self
                .current
                .map_or(round_trip, |least| least.min(round_trip));
            self.current = Some(least);
            self.compare(least);
        }
        let most = sample.arrived.min(SEGMENTS * segment);
        Some(match self.stage {
            Stage::Slow => most,
            Stage::Conservative(..) => most / DIVISOR,
        })
    }

    /// A round trip has passed. False if conservative slow start has lasted long enough.
    fn begin_round(&mut self, sample: &Sample) -> bool {
        self.round_end = sample.total;
        self.last = self.current.take().or(self.last);
        self.samples = 0;
        if let Stage::Conservative(base, rounds) = self.stage {
            self.stage = Stage::Conservative(base, rounds + 1);
            return rounds + 1 < ROUNDS;
        }
        true
    }

    fn compare(&mut self, current: Duration) {
        let Some(last) = self.last.filter(|_| self.samples >= SAMPLES) else {
            return;
        };
        match self.stage {
            Stage::Slow => {
                let growth = (last / 8).clamp(GROWTH_MIN, GROWTH_MAX);
                if current >= last + growth {
                    self.stage = Stage::Conservative(current, 0);
                }
            }
            // It was jitter.
            Stage::Conservative(base, _) if current < base => self.stage = Stage::Slow,
            Stage::Conservative(..) => {}
        }
    }
}
