//! The fades of one peer in the last minute.

use std::collections::VecDeque;

use hosts::PeerSummary;

/// Number of seconds that are remembered.
pub(super) const SECONDS: usize = 60;
const SECOND_MS: u64 = 1_000;

/// Time of each of the last seconds in which nothing came through.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Milliseconds of each second, the oldest first; `None` where the peer was not connected or not asked about.
    seconds: VecDeque<Option<u64>>,
    /// Number of the last second.
    newest: u64,
    /// Total length of all fades at that time, with the present one.
    total_ms: Option<u64>,
}

impl History {
    /// Records the state of the peer in the second with this number.
    pub(super) fn note(&mut self, second: u64, peer: &PeerSummary) {
        let missed = second.saturating_sub(self.newest + 1);
        for _ in 0..missed.min(SECONDS as u64) {
            self.push(None);
        }
        if second > self.newest || self.seconds.is_empty() {
            self.push(None);
        }
        self.newest = second;
        let total = peer.faded_ms + peer.fading_ms;
        // Without an earlier total it is not known when these fades were.
        let last = self.total_ms.replace(total).filter(|_| peer.is_connected);
        if peer.is_connected {
            self.spread(last.map_or(0, |last| total.saturating_sub(last)));
        }
    }

    fn push(&mut self, second: Option<u64>) {
        if self.seconds.len() == SECONDS {
            self.seconds.pop_front();
        }
        self.seconds.push_back(second);
    }

    /// Adds time to the newest seconds, as a fade is noticed only some time after it began.
    fn spread(&mut self, mut faded_ms: u64) {
        let mut seconds = self.seconds.iter_mut().rev();
        if let Some(newest) = seconds.next() {
            add(newest.get_or_insert(0), &mut faded_ms);
        }
        for second in seconds.flatten() {
            if faded_ms == 0 {
                return;
            }
            add(second, &mut faded_ms);
        }
    }

    /// Returns the share of the last minute that was faded, in hundredths of the seconds that are known.
    pub(super) fn percent(&self) -> u64 {
        let known: Vec<_> = self.seconds.iter().flatten().collect();
        let sum: u64 = known.iter().copied().sum();
        (sum * 100).div_ceil((known.len() as u64 * SECOND_MS).max(1))
    }

    /// Returns the last minute as `width` symbols, the newest at the right: a dot for clear air, a bar for the share
    /// that was faded, and a space for what is not known.
    pub(super) fn strip(&self, width: usize) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let each = SECONDS.div_ceil(width.max(1));
        let unknown = std::iter::repeat_n(None, SECONDS - self.seconds.len());
        let all: Vec<_> = unknown.chain(self.seconds.iter().copied()).collect();
        let symbol = |part: &[Option<u64>]| {
            let known: Vec<_> = part.iter().flatten().collect();
            let whole = known.len() as u64 * SECOND_MS;
            match known.iter().copied().sum::<u64>() {
                _ if whole == 0 => ' ',
                0 => '·',
                faded => BARS[(faded * 8).div_ceil(whole).clamp(1, 8) as usize - 1],
            }
        };
        all.rchunks(each)
            .map(symbol)
            .collect::<Vec<_>>()
            .iter()
            .rev()
            .collect()
    }
}

/// Moves as much to a second as it has room for.
fn add(second: &mut u64, faded_ms: &mut u64) {
    let part = (*faded_ms).min(SECOND_MS.saturating_sub(*second));
    *second += part;
    *faded_ms -= part;
}

#[cfg(test)]
mod tests {
    use super::super::board::tests::peer;
    use super::*;

    fn noted(totals: &[(u64, u64)]) -> History {
        let mut history = History::default();
        for (second, faded_ms) in totals {
            let peer = PeerSummary {
                faded_ms: *faded_ms,
                ..peer(1)
            };
            history.note(*second, &peer);
        }
        history
    }

    #[test]
    fn fades_are_shown_in_the_seconds_in_which_they_were() {
        // 1,500 ms found at second 4: it began in the second before.
        let history = noted(&[(1, 9_000), (2, 9_000), (3, 9_000), (4, 10_500), (5, 10_750)]);
        assert_eq!(history.strip(60).trim_start(), "··▄█▂");
        assert_eq!(history.percent(), 35);
        assert_eq!(history.strip(60).chars().count(), 60);
    }

    #[test]
    fn a_strip_of_fewer_symbols_has_the_mean_of_several_seconds() {
        let all: Vec<_> = (0..80)
            .map(|second| (second, second.max(70) * 1_000))
            .collect();
        let history = noted(&all);
        // The last nine seconds were faded.
        assert_eq!(history.strip(20), format!("{}███", "·".repeat(17)));
        assert_eq!(history.strip(15), format!("{}▂██", "·".repeat(12)));
        assert_eq!(history.percent(), 15);
    }

    #[test]
    fn what_is_not_known_is_empty() {
        assert_eq!(History::default().strip(15), " ".repeat(15));
        let mut history = noted(&[(10, 0), (11, 0), (15, 0)]);
        assert_eq!(history.strip(60).trim_start(), "··   ·");
        let absent = PeerSummary {
            is_connected: false,
            ..peer(1)
        };
        history.note(16, &absent);
        assert_eq!(history.strip(60).trim_start(), "··   · ");
        // A restart of the daemon, whose totals begin anew.
        let before = noted(&[(1, 50_000), (2, 100)]);
        assert_eq!(before.percent(), 0);
    }
}
