//! A flow of datagrams without retransmission, and the delays of its datagrams.

use machine::RandomStream;
use serde::Deserialize;
use units::{Bytes, Duration, Instant};

/// A flow from a fixed host to a mobile host of its own.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowConfig {
    /// Length of each datagram, headers included.
    pub(crate) length: Bytes,
    /// Time between two datagrams.
    pub(crate) every: Duration,
    /// True if that time is exponential, with `every` as its mean; else it is constant.
    #[serde(default)]
    pub(crate) random: bool,
}

/// The flows beside the connections.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flows {
    /// A voice call.
    pub(crate) voice: FlowConfig,
    /// Interactive traffic: key strokes, echoed.
    pub(crate) interactive: FlowConfig,
}

/// The sender of a flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowSender {
    config: FlowConfig,
    chance: RandomStream,
    next: Instant,
    sent: u64,
}

impl FlowSender {
    /// Creates a sender whose first datagram is due within one interval.
    pub(crate) fn new(config: FlowConfig, mut chance: RandomStream) -> Self {
        Self {
            config,
            next: Instant::ZERO + chance.uniform(Duration::ZERO, config.every),
            chance,
            sent: 0,
        }
    }

    /// Returns the time of the next datagram.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Returns the number of datagrams sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the length of the datagram that is due, if there is one.
    pub(crate) fn talk(&mut self, now: Instant) -> Option<Bytes> {
        if self.next > now {
            return None;
        }
        let every = self.config.every;
        self.next += if self.config.random {
            Duration::from_nanos(self.chance.exponential(every.as_nanos()))
        } else {
            every
        };
        self.sent += 1;
        Some(self.config.length)
    }
}

/// The delays of the datagrams that arrived, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delays(Vec<Duration>);

impl Delays {
    /// Adds the delay of a datagram that arrived.
    pub(crate) fn arrived(&mut self, delay: Duration) {
        self.0.push(delay);
    }

    /// Returns the number of datagrams that arrived.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the mean delay in milliseconds.
    pub(crate) fn mean(&self) -> Option<f64> {
        mean(self.0.iter().copied())
    }

    /// Returns the 99th percentile of the delays in milliseconds.
    pub(crate) fn percentile_99(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let delay = sorted.get(sorted.len() * 99 / 100)?;
        Some(milliseconds(*delay))
    }

    /// Returns the mean difference between the delays of successive datagrams (RFC 3550 §6.4.1, not smoothed), in
    /// milliseconds.
    pub(crate) fn jitter(&self) -> Option<f64> {
        let pairs = self.0.windows(2);
        mean(pairs.map(|pair| pair[0].abs_diff(pair[1])))
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn mean(durations: impl ExactSizeIterator<Item = Duration>) -> Option<f64> {
    let count = durations.len();
    let sum: Duration = durations.sum();
    (count > 0).then(|| milliseconds(sum) / count as f64)
}
