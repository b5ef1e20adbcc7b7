//! One shared air: how fast it is, and when it is free.
//!
//! [`Air`] paces transmissions at the rate of the hop, which it measures: the rate at which frames
//! *arrive* while some wait in the hop, lost ones counted as sent, so that a loss on the air never lowers
//! it, while a growing queue does. The queue thus stands in our own daemon and not in the hop.

mod estimate;
mod pacer;

use arq::Sample;
pub use estimate::Estimate;
use pacer::Pacer;
use units::{BitRate, Bytes, Duration, Instant};

/// The pacer and the rate of one shared medium.
#[derive(Debug)]
pub struct Air {
    pacer: Pacer,
    estimate: Estimate,
    given: Option<BitRate>,
}

impl Air {
    /// An air of `given` rate, or one whose rate is to be measured.
    pub fn new(given: Option<BitRate>) -> Self {
        Self {
            pacer: Pacer::default(),
            estimate: Estimate::default(),
            given,
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
        self.pacer.spent(now, bytes, self.pace());
    }

    /// Learns from the latest transmission that arrived.
    pub fn learn(&mut self, now: Instant, sample: &Sample) {
        self.estimate.learn(now, sample);
    }

    /// The rate of the hop.
    pub fn rate(&self) -> BitRate {
        self.given.unwrap_or(self.estimate.rate())
    }

    /// The rate at which frames leave now: that of the hop, but for what fills or drains its queue.
    fn pace(&self) -> BitRate {
        self.given.unwrap_or(self.estimate.pace())
    }

    /// How long frames wait in the hop.
    pub fn queueing(&self) -> Duration {
        self.estimate.queueing()
    }
}
