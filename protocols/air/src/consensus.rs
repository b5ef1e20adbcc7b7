//! The rate of an air, from the measurements of several destinations.

use std::collections::BTreeSet;

use units::{BitRate, Bytes, Duration, Instant};

/// Time after which the weight of a measurement halves: the air changes, and a destination in a fade has no new ones.
const HALVED: Duration = Duration::from_millis(100);
/// Largest weight, in bytes, so that one destination that gets most does not outweigh all others.
const WEIGHT_MAX: u64 = 32 << 10;

/// The latest measurement of one destination.
#[derive(Debug, Clone, Copy, Default)]
struct Destination {
    told: Option<Measurement>,
    /// Bytes that it had been sent when it measured; the weight decreases with time.
    weight: u64,
    /// Bytes sent to it since.
    sent: u64,
}

#[derive(Debug, Clone, Copy)]
struct Measurement {
    at: Instant,
    measured: Measured,
}

/// A measurement of the rate of an air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// The rate at which to send now.
    pub pace: BitRate,
    /// The rate.
    pub rate: BitRate,
    /// True if the rate is known, and not only a first guess that still grows.
    pub is_settled: bool,
}

/// The weighted median of the measurements: a destination that is wrong, or lies, moves it at most to the values of its
/// neighbours.
#[derive(Debug)]
pub(crate) struct Consensus {
    news: Vec<Destination>,
    /// Destinations whose measurements may still count.
    recent: BTreeSet<usize>,
    /// Kept for its storage.
    known: Vec<(Measured, u64)>,
    agreed: Option<Measured>,
}

impl Consensus {
    pub(crate) fn new() -> Self {
        Self {
            news: Vec::new(),
            recent: BTreeSet::new(),
            known: Vec::new(),
            agreed: None,
        }
    }

    /// Adds a destination, or removes all that is known of it.
    pub(crate) fn renew(&mut self, destination: usize) {
        if self.news.len() <= destination {
            self.news.resize(destination + 1, Destination::default());
        }
        self.news[destination] = Destination::default();
        self.recent.remove(&destination);
    }

    /// Returns the agreed measurement.
    pub(crate) fn agreed(&self) -> Option<Measured> {
        self.agreed
    }

    /// Records that `bytes` were sent to a destination.
    pub(crate) fn sent(&mut self, destination: usize, bytes: Bytes) {
        if let Some(news) = self.news.get_mut(destination) {
            news.sent += bytes.get();
        }
    }

    /// Records the measurement of a destination.
    pub(crate) fn told(&mut self, now: Instant, destination: usize, measured: Measured) {
        let Some(news) = self.news.get_mut(destination) else {
            return;
        };
        let weight = news.weight_at(now) + std::mem::take(&mut news.sent);
        news.weight = weight.min(WEIGHT_MAX);
        news.told = Some(Measurement { at: now, measured });
        self.recent.insert(destination);
        self.agreed = self.median(now).or(Some(measured));
    }

    /// Returns the median of the destinations that know the rate. If two halves disagree, returns the faster one: a
    /// pace that is too high is noticed.
    fn median(&mut self, now: Instant) -> Option<Measured> {
        let news = &self.news;
        self.recent
            .retain(|destination| news[*destination].weight_at(now) > 0);
        let weighed = |destination: &usize| {
            let news = &news[*destination];
            let measured = news.told?.measured;
            measured.is_settled.then(|| (measured, news.weight_at(now)))
        };
        let known = &mut self.known;
        known.clear();
        known.extend(self.recent.iter().filter_map(weighed));
        known.sort_unstable_by_key(|(measured, _)| measured.pace);
        let half = known.iter().map(|(_, weight)| weight).sum::<u64>() / 2;
        let mut passed = 0;
        let is_median = |(_, weight): &&(Measured, u64)| {
            passed += weight;
            passed > half
        };
        known.iter().find(is_median).map(|(measured, _)| *measured)
    }
}

impl Destination {
    fn weight_at(&self, now: Instant) -> u64 {
        let since = self.told.map_or(Duration::ZERO, |told| now.since(told.at));
        let halvings = since.as_nanos() / HALVED.as_nanos();
        let shift = u32::try_from(halvings).unwrap_or(u32::MAX);
        self.weight.checked_shr(shift).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(megabits: u64, is_settled: bool) -> Measured {
        let rate = BitRate::from_megabits(megabits);
        Measured {
            pace: rate,
            rate,
            is_settled,
        }
    }

    fn after(news: &[(usize, u64, u64, bool)]) -> Option<Measured> {
        let mut consensus = Consensus::new();
        (0..4).for_each(|destination| consensus.renew(destination));
        for (destination, milliseconds, megabits, is_settled) in news {
            let now = Instant::from_millis(*milliseconds);
            consensus.sent(*destination, Bytes::kibi(8));
            consensus.told(now, *destination, measured(*megabits, *is_settled));
        }
        consensus.agreed()
    }

    #[test]
    fn who_still_starts_is_believed_only_alone() {
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[(0, 1, 20, false)]), Some(measured(20, false)));
        let joined = after(&[(0, 1, 10, true), (1, 2, 40, false)]);
        assert_eq!(joined, Some(measured(10, true)));
    }

    #[test]
    fn one_that_lies_moves_next_to_nothing() {
        for lie in [1, 900] {
            let honest = [(0, 1, 10, true), (1, 2, 11, true), (2, 3, 12, true)];
            let all = [&honest[..], &[(3, 4, lie, true)]].concat();
            let agreed = after(&all).expect("four have told");
            assert!((11..=12).contains(&(agreed.pace.bits_per_second() / 1_000_000)));
        }
        assert_eq!(
            after(&[(0, 1, 10, true), (1, 2, 1, true)]),
            Some(measured(10, true))
        );
    }

    #[test]
    fn old_news_gives_way() {
        let slower = after(&[(0, 1, 20, true), (1, 2, 20, true), (2, 2_000, 5, true)]);
        assert_eq!(slower, Some(measured(5, true)));
    }
}
