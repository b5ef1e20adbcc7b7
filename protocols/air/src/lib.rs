//! One shared air: how fast it is, and when it is free.
//!
//! [`Air`] paces transmissions at the rate of the hop, which it measures: the rate at which frames
//! *arrive* while some wait in the hop, lost ones counted as sent, so that a loss on the air never lowers
//! it, while a growing queue does. The queue thus stands in our own daemon and not in the hop.
//!
//! [`SharedAir`] is the air of several destinations, who take turns on it.

mod consensus;
mod estimate;
mod pacer;
mod shared;

use arq::Sample;
pub use consensus::Measured;
pub use estimate::Estimate;
pub use pacer::Pacer;
pub use shared::{AirStatus, SharedAir, Turn};
use units::{BitRate, Bytes, Duration, Instant};

/// The pacer and the rate of one shared medium.
#[derive(Debug)]
pub struct Air {
    pacer: Pacer,
    estimate: Estimate,
    given: Option<BitRate>,
    /// Sent before any rate was measured.
    blind: Bytes,
    learned_at: Option<Instant>,
}

/// What may be sent at the initial pace before any rate is measured: a few initial windows of TCP.
const BLIND_MAX: Bytes = Bytes::kibi(40);
/// The pace beyond it, until one is, and while what was measured is in doubt.
const BLIND_PACE: BitRate = BitRate::from_kilobits(256);

impl Air {
    /// An air of `given` rate, or one whose rate is to be measured.
    pub fn new(given: Option<BitRate>) -> Self {
        Self {
            pacer: Pacer::default(),
            estimate: Estimate::default(),
            given,
            blind: Bytes::ZERO,
            learned_at: None,
        }
    }

    /// When the air is free next.
    pub fn free_at(&self) -> Instant {
        self.pacer.free_at()
    }

    /// How many bytes may go on the air now; `None` while it is busy.
    pub fn grant(&self, now: Instant) -> Option<Bytes> {
        self.pacer.grant(now, self.pace())
    }

    /// Bytes have gone on the air.
    pub fn spent(&mut self, now: Instant, bytes: Bytes) {
        if !self.estimate.has_measured() {
            self.blind += bytes;
        }
        self.estimate.sent(bytes);
        self.pacer.spent(now, bytes, self.pace());
    }

    /// Learns from the latest transmission that arrived.
    pub fn learn(&mut self, now: Instant, sample: &Sample) {
        self.estimate.learn(now, sample);
        self.learned_at = Some(now);
    }

    /// When it learned last.
    pub fn learned_at(&self) -> Option<Instant> {
        self.learned_at
    }

    /// The rate of the hop.
    pub fn rate(&self) -> BitRate {
        self.given.unwrap_or(self.estimate.rate())
    }

    /// Whether the rate is known, and not only a first guess that still grows.
    pub fn is_settled(&self) -> bool {
        self.given.is_some() || !self.estimate.is_starting()
    }

    /// The rate at which frames leave now: that of the hop, but for what fills or drains its queue.
    pub fn pace(&self) -> BitRate {
        let blind = self.blind > BLIND_MAX && !self.estimate.has_measured();
        let measured = if blind {
            BLIND_PACE
        } else {
            self.estimate.pace()
        };
        self.given.unwrap_or(measured)
    }

    /// What is known of its rate, once anything is.
    pub fn measured(&self) -> Option<Measured> {
        let is_known = self.given.is_some() || self.estimate.has_measured();
        is_known.then(|| Measured {
            pace: self.pace(),
            rate: self.rate(),
            is_settled: self.is_settled(),
        })
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> Bytes {
        Bytes::from(size_of::<Self>() + self.estimate.memory())
    }

    /// How long frames wait in the hop.
    pub fn queueing(&self) -> Duration {
        self.estimate.queueing()
    }
}
