//! TCP alone on a link: what anything else there is compared with.

use std::ops::Range;

use channel::{Channel, Counters, Direction, Input, Link, Output};
use machine::{Machine, earlier};
use units::{BitRate, Bytes, Duration, Instant};

use crate::rival::Kind;
use crate::set::{Crossing, Rivals};

/// How often a small request is made.
const REQUESTS: Duration = Duration::from_millis(100);

/// A channel with nothing on it but TCP.
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
    /// The channel of `link` in the run with `seed`, with nobody on it yet.
    pub fn new(link: &Link, seed: u64) -> Self {
        Self {
            channel: Channel::new(link, seed),
            rivals: Rivals::new(),
            now: Instant::ZERO,
        }
    }

    /// Lets time pass.
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
                Output::Drop { .. } | Output::State { .. } => {}
            }
        }
    }
}

/// The median and the 95th percentile of a set of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Percentiles {
    /// As many were shorter as were longer.
    pub median: Duration,
    /// Only a twentieth was longer.
    pub p95: Duration,
}

impl Percentiles {
    /// Of these; zero where there are none.
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

/// What TCP alone made of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// What arrived in order, in the span that counts.
    pub goodput: BitRate,
    /// How long small requests beside it took.
    pub requests: Percentiles,
    /// What happened to packets on their way to the mobile, from the start.
    pub down: Counters,
}

impl Outcome {
    /// Packets that the queue dropped, of 10,000.
    pub fn dropped(&self) -> u64 {
        self.down.dropped_queue.packets * 10_000 / self.down.offered.packets.max(1)
    }
}

/// Lets one connection download over `link` from `begin` on, with a small request beside it each 100 ms, and counts
/// within `span`.
pub fn alone(
    link: &Link,
    seed: u64,
    kind: Kind,
    (begin, span): (Instant, Range<Instant>),
) -> Outcome {
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
