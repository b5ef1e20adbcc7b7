//! The last ten minutes of each peer: rates, losses and fades, as differences between two answers of the daemon.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use hosts::PeerStatus;

/// Time that is remembered.
pub(super) const SPAN: Duration = Duration::from_mins(10);
/// Largest number of answers that are remembered, and of peers: 40 MB in all.
const ANSWERS: usize = 600;
const PEERS: usize = 4_096;
/// A complete share, in the unit of [`Sample::lost`].
const WHOLE_LOSS: u64 = 10_000;
const WHOLE_TIME: u128 = 100;

/// What went over the hop between two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// Content that reached the peer, and packets that came from it, in bytes per second, without repairs.
    pub(super) sent: u32,
    pub(super) received: u32,
    /// Share of the frames of both directions that were found lost, in parts of 10,000.
    pub(super) lost: u16,
    /// Share of the time in a fade, in percent.
    pub(super) faded: u8,
    /// Number of fades that ended.
    pub(super) fades: u8,
}

/// The counters of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counters {
    sent: u64,
    received: u64,
    frames: u64,
    lost: u64,
    fades: u64,
    /// Time in fades, also in the present one. An end may show that a fade was shorter than it seemed: then this waits
    /// until the sum has caught up.
    faded: Duration,
}

impl Counters {
    fn of(peer: &PeerStatus) -> Self {
        let (sent, received) = (&peer.hop.stats.sent, &peer.hop.stats.received);
        let faded = sent.faded.as_nanos() + peer.hop.fading_for.as_nanos();
        Self {
            sent: sent.bytes_delivered,
            received: received.bytes,
            frames: sent.frames + received.frames + received.frames_missed,
            lost: sent.frames_lost + received.frames_missed,
            fades: sent.fades,
            faded: Duration::from_nanos(faded),
        }
    }

    /// Returns what came since `before`; `None` if the peer began anew in between.
    fn since(&self, before: &Self, passed: Duration) -> Option<Sample> {
        let frames = self.frames.checked_sub(before.frames)?;
        let rate = |now: u64, before: u64| {
            let bytes = u128::from(now.checked_sub(before)?) * 1_000_000;
            let rate = bytes / passed.as_micros().max(1);
            Some(u32::try_from(rate).unwrap_or(u32::MAX))
        };
        // Losses become known later than the frames were sent, and a late frame takes one back.
        let lost = self.lost.saturating_sub(before.lost).min(frames) * WHOLE_LOSS;
        let faded = self.faded.saturating_sub(before.faded).as_micros() * WHOLE_TIME;
        let faded = (faded / passed.as_micros().max(1)).min(WHOLE_TIME);
        Some(Sample {
            sent: rate(self.sent, before.sent)?,
            received: rate(self.received, before.received)?,
            lost: lost.checked_div(frames).unwrap_or(0) as u16,
            faded: faded as u8,
            fades: u8::try_from(self.fades.saturating_sub(before.fades)).unwrap_or(u8::MAX),
        })
    }
}

/// The samples of one peer.
#[derive(Debug)]
struct Series {
    /// Number of the answer with the last counters, and these.
    answer: u64,
    counters: Counters,
    /// One for each answer since `first`; `None` if nothing is known.
    samples: VecDeque<Option<Sample>>,
    first: u64,
}

/// The samples of all peers.
#[derive(Debug)]
pub(super) struct History {
    start: Instant,
    /// Times of the answers that are remembered.
    times: VecDeque<Duration>,
    /// Number of all answers so far.
    answers: u64,
    peers: HashMap<String, Series>,
}

impl History {
    /// Creates an empty history that begins `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            start: now,
            times: VecDeque::new(),
            answers: 0,
            peers: HashMap::new(),
        }
    }

    /// Adds an answer, without peers if the daemon gave none.
    pub(super) fn add(&mut self, now: Instant, peers: &[PeerStatus]) {
        let at = now.saturating_duration_since(self.start);
        let passed = self
            .times
            .back()
            .map_or(Duration::ZERO, |last| at.saturating_sub(*last));
        self.times.push_back(at);
        self.answers += 1;
        for peer in peers {
            self.add_peer(peer, passed);
        }
        let answers = self.answers;
        for series in self.peers.values_mut() {
            if series.answer != answers {
                series.samples.push_back(None);
            }
        }
        self.forget(at);
    }

    fn add_peer(&mut self, peer: &PeerStatus, passed: Duration) {
        let (mut counters, answer) = (Counters::of(peer), self.answers);
        if let Some(series) = self.peers.get_mut(&peer.name) {
            let is_next = series.answer + 1 == answer;
            let sample = counters.since(&series.counters, passed);
            if sample.is_some() {
                counters.faded = counters.faded.max(series.counters.faded);
            }
            series.samples.push_back(sample.filter(|_| is_next));
            (series.answer, series.counters) = (answer, counters);
        } else if self.peers.len() < PEERS {
            let series = Series {
                answer,
                counters,
                samples: VecDeque::from([None]),
                first: answer,
            };
            self.peers.insert(peer.name.clone(), series);
        }
    }

    /// Forgets what is too old, and peers of which nothing is left.
    fn forget(&mut self, now: Duration) {
        let is_old = |time: &Duration| now.saturating_sub(*time) > SPAN;
        while self.times.len() > ANSWERS || self.times.front().is_some_and(is_old) {
            self.times.pop_front();
        }
        let first = self.first();
        self.peers.retain(|_, series| {
            while series.first < first && series.samples.pop_front().is_some() {
                series.first += 1;
            }
            series.answer >= first
        });
    }

    /// Returns the number of the oldest answer that is remembered.
    fn first(&self) -> u64 {
        self.answers + 1 - self.times.len() as u64
    }

    /// Returns the number of answers so far.
    pub(super) fn answers(&self) -> u64 {
        self.answers
    }

    /// Returns the times of the answers after the one with this number, since the start of the history.
    pub(super) fn times(&self, after: u64) -> impl Iterator<Item = Duration> {
        let known = (after + 1).saturating_sub(self.first());
        self.times.iter().skip(known as usize).copied()
    }

    /// Returns the samples of a peer at the last of these times; a new peer has fewer.
    pub(super) fn samples(&self, peer: &str, after: u64) -> impl Iterator<Item = Option<Sample>> {
        let series = self.peers.get(peer);
        series.into_iter().flat_map(move |series| {
            let known = (after + 1).saturating_sub(series.first);
            series.samples.iter().skip(known as usize).copied()
        })
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
