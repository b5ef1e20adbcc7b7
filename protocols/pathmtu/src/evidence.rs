//! The evidence, from lost and arrived packets, that the path MTU has decreased.

/// Number of runs of lost long packets, each between short ones that arrived, after which the length is doubted.
const RUNS: u8 = 2;

/// Evidence for a path that drops long packets. An outage drops short ones too, so it is no evidence.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence {
    /// Shortest long packet that was lost since one of its length arrived; zero if there is none.
    lost: usize,
    /// Set if a long packet was lost since a shorter one arrived.
    is_pending: bool,
    runs: u8,
}

impl Evidence {
    /// Notes a lost packet of this length, which is longer than the least.
    pub(crate) fn lost(&mut self, length: usize) {
        self.lost = if self.lost == 0 {
            length
        } else {
            self.lost.min(length)
        };
        self.is_pending = true;
    }

    /// Notes a packet of this length that arrived.
    pub(crate) fn arrived(&mut self, length: usize) {
        if length >= self.lost {
            *self = Self::default();
        } else if std::mem::take(&mut self.is_pending) {
            self.runs = self.runs.saturating_add(1);
        }
    }

    /// Returns true if the length must be doubted.
    pub(crate) fn is_strong(&self) -> bool {
        self.runs >= RUNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the verdict for these packets: `L` and `S` are a long and a short one that arrive, `l` and `s` are lost.
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
