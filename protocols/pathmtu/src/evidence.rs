//! Whether the path has come to carry less, as the fate of packets shows it.

/// Runs of long packets that were lost, each between short ones that arrived, before the length is doubted.
const RUNS: u8 = 2;

/// What speaks for a path that swallows long packets. An outage swallows short ones too, and so is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence {
    /// The shortest of the long ones that were lost since one of its length arrived; zero if none was.
    lost: usize,
    /// One was lost since a shorter one arrived.
    is_pending: bool,
    runs: u8,
}

impl Evidence {
    /// A packet of this length was lost, one that is longer than what any path carries.
    pub(crate) fn lost(&mut self, length: usize) {
        self.lost = if self.lost == 0 {
            length
        } else {
            self.lost.min(length)
        };
        self.is_pending = true;
    }

    /// A packet of this length arrived.
    pub(crate) fn arrived(&mut self, length: usize) {
        if length >= self.lost {
            *self = Self::default();
        } else if std::mem::take(&mut self.is_pending) {
            self.runs = self.runs.saturating_add(1);
        }
    }

    /// Whether the length must be doubted.
    pub(crate) fn is_strong(&self) -> bool {
        self.runs >= RUNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `L` and `S`: a long and a short packet that arrive; `l`, `s`: that are lost.
    fn is_strong(fates: &str) -> bool {
        let mut evidence = Evidence::default();
        for fate in fates.bytes() {
            match fate {
                b'L' => evidence.arrived(1_500),
                b'S' => evidence.arrived(80),
                b'l' => evidence.lost(1_500),
                _ => {}
            }
        }
        evidence.is_strong()
    }

    #[test]
    fn only_long_ones_lost_among_short_ones_are_evidence() {
        for fates in [
            "",
            "LLLLSLLL",
            "lSLlSLlSL",
            "lllllllsllllsllls",
            "llllllSL",
            "SSSSlS",
            "llLSlS",
        ] {
            assert!(!is_strong(fates), "{fates}");
        }
        for fates in ["lSlS", "SlllSlllS", "LllSlllSS"] {
            assert!(is_strong(fates), "{fates}");
        }
    }
}
