//! `HyStart`++ (RFC 9406): slow start ends when the round-trip time increases, before the queue is full.

use units::Duration;

use super::Sample;

/// Samples needed in a round.
const SAMPLES: u32 = 8;
/// Limits of the round-trip increase that ends slow start, which is an eighth of the round trip.
const GROWTH_MIN: Duration = Duration::from_millis(4);
const GROWTH_MAX: Duration = Duration::from_millis(16);
/// Factor by which conservative slow start grows more slowly, and its number of rounds.
const DIVISOR: u64 = 4;
const ROUNDS: u32 = 5;
/// Largest growth for one acknowledgement, in segments, without pacing.
const SEGMENTS: u64 = 8;

/// Phase of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Slow,
    /// Conservative slow start: the round trip from which it increased; number of rounds since.
    Conservative(Duration, u32),
}

/// Slow start that watches round-trip times.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    stage: Stage,
    /// Bytes delivered at the end of this round's first flight.
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

    /// Returns the growth of the window, in bytes; `None` when slow start is over.
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

    /// Begins a new round. Returns false if conservative slow start has lasted long enough.
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
            // The increase was jitter.
            Stage::Conservative(base, _) if current < base => self.stage = Stage::Slow,
            Stage::Conservative(..) => {}
        }
    }
}
