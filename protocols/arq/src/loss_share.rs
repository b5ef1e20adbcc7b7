//! The share of frames that the hop loses.

use units::Probability;

/// Number of frames over which the share is smoothed.
const SMOOTHING: u64 = 512;
/// Number of frames before which the share is not known.
const ENOUGH: u64 = 128;

/// The recent share of lost frames in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossShare {
    /// The share in 2⁻³².
    share: u64,
    frames: u64,
}

impl LossShare {
    /// Records the outcome of the next frame.
    pub(crate) fn note(&mut self, is_lost: bool) {
        self.frames = (self.frames + 1).min(SMOOTHING);
        self.share -= self.share / self.frames;
        if is_lost {
            self.share += (1 << 32) / self.frames;
        }
    }

    /// Records several losses, one after the other.
    pub(crate) fn note_lost(&mut self, count: u64) {
        // Losses further back than the smoothing reaches change nothing.
        for _ in 0..count.min(8 * SMOOTHING) {
            self.note(true);
        }
    }

    /// Corrects one frame that was recorded as lost and was not.
    pub(crate) fn forgive(&mut self) {
        let part = (1 << 32) / self.frames.max(1);
        self.share = self.share.saturating_sub(part);
    }

    /// Returns the share, once enough frames have shown it.
    pub(crate) fn known(&self) -> Option<Probability> {
        (self.frames >= ENOUGH).then(|| Probability::ratio(self.share, 1 << 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the known share after `rounds` rounds of one lost frame and `whole` others.
    fn after(rounds: u64, whole: u64) -> Option<f64> {
        let mut share = LossShare::default();
        for _ in 0..rounds {
            (0..whole).for_each(|_| share.note(false));
            share.note_lost(1);
        }
        share.known().map(Probability::as_f64)
    }

    #[test]
    fn it_is_the_share_of_late() {
        assert_eq!(after(1, 100), None, "too few to tell");
        for (rounds, whole) in [(10, 19), (1_000, 19), (1_000, 4)] {
            let known = after(rounds, whole).unwrap();
            let expected = 1.0 / (whole + 1) as f64;
            assert!(
                (known - expected).abs() < expected / 10.0,
                "{known} for {expected}"
            );
        }
    }

    #[test]
    fn what_is_past_is_forgotten() {
        let mut share = LossShare::default();
        share.note_lost(u64::MAX);
        assert!(share.known().unwrap().as_f64() > 0.99);
        (0..4 * SMOOTHING).for_each(|_| share.note(false));
        assert!(share.known().unwrap().as_f64() < 0.03);
    }
}
