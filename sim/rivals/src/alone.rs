//! TCP alone on a link, as a reference for other results.

use std::ops::Range;

use channel::{Channel, Counters, Direction, Input, Link, Output};
use machine::{Machine, earlier};
use units::{BitRate, Bytes, Duration, Instant};

use crate::rival::Kind;
use crate::set::{Crossing, Rivals};

/// Interval of small requests.
const REQUESTS: Duration = Duration::from_millis(100);

/// A channel that carries only TCP.
#[derive(Debug)]
pub struct Alone {
    /// The channel.
    pub channel: Channel<Crossing>,
    /// The connections.
    pub rivals: Rivals,
    /// The time.
    pub now: Instant,
}

impl Alone {
    /// Returns the channel of `link` in the run with `seed`, without connections.
    pub fn new(link: &Link, seed: u64) -> Self {
        Self {
            channel: Channel::new(link, seed),
            rivals: Rivals::new(),
            now: Instant::ZERO,
        }
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            let next = earlier(self.channel.poll_timeout(), self.rivals.poll_timeout());
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.channel.handle_timeout(self.now);
            self.drain();
            self.rivals.handle_timeout(self.now);
            while let Some(crossing) = self.rivals.poll_crossing() {
                let input = Input::Send {
                    direction: crossing.direction(),
                    size: crossing.size(),
                    payload: crossing,
                };
                self.channel.handle_input(self.now, input);
                self.drain();
            }
        }
        self.now = self.now.max(end);
    }

    fn drain(&mut self) {
        while let Some(output) = self.channel.poll_output() {
            match output {
                Output::Deliver { payload, .. } => self.rivals.take(self.now, payload),
                // A corrupted segment fails its checksum.
                Output::DeliverCorrupted { .. } | Output::Drop { .. } | Output::State { .. } => {}
            }
        }
    }
}

/// The median and the 95th percentile of a set of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Percentiles {
    /// Median.
    pub median: Duration,
    /// 95th percentile.
    pub p95: Duration,
}

impl Percentiles {
    /// Returns the percentiles of `times`; zero if there are none.
    pub fn of(times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<_> = times.collect();
        times.sort_unstable();
        let at = |percent: usize| {
            let place = times.len() * percent / 100;
            times.get(place).copied().unwrap_or_default()
        };
        Self {
            median: at(50),
            p95: at(95),
        }
    }
}

/// Result of TCP alone on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Rate of data that arrived in order, within the measured span.
    pub goodput: BitRate,
    /// Response times of small requests beside it.
    pub requests: Percentiles,
    /// Counters of packets on their way to the mobile host, from the start.
    pub down: Counters,
}

impl Outcome {
    /// Returns the number of packets that the queue dropped, of 10,000.
    pub fn dropped(&self) -> u64 {
        self.down.dropped_queue.packets * 10_000 / self.down.offered.packets.max(1)
    }
}

/// Runs one download over `link` from `begin` on, with a small request beside it each 100 ms, and measures within
/// `span`.
pub fn alone(link: &Link, seed: u64, kind: Kind, begin: Instant, span: Range<Instant>) -> Outcome {
    let mut alone = Alone::new(link, seed);
    let whole = begin..span.end;
    let bulk = alone.rivals.add(kind, Direction::Down, whole.clone());
    let requests = alone.rivals.add_requests(REQUESTS, whole);
    alone.run_until(span.end);
    let bytes = alone.rivals.delivered_within(bulk, span.clone());
    let replies = alone.rivals.replies(requests).iter();
    let counted = replies.filter(|(sent, _)| span.contains(sent));
    Outcome {
        goodput: BitRate::of(Bytes::new(bytes), span.end - span.start).unwrap_or_default(),
        requests: Percentiles::of(counted.map(|(_, time)| *time)),
        down: *alone.channel.counters(Direction::Down),
    }
}
