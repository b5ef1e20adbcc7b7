//! Errors at exponentially distributed distances, counted in bytes of one direction.
//!
//! Balakrishnan, Padmanabhan, Seshan, Katz, "A Comparison of Mechanisms for Improving TCP Performance over Wireless
//! Links", IEEE/ACM Trans. Networking 5(6), 1997: the receiving end of the lossy link draws the distance to the next
//! error and corrupts the packet in which it lies. A packet of s bytes is lost with probability 1 − exp(−s ÷ mean).

use machine::RandomStream;
use serde::Deserialize;
use units::Bytes;

use crate::problem::Problem;

/// Parameters of errors at a distance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistanceConfig {
    /// Mean distance from one error to the next.
    pub mean: Bytes,
}

impl DistanceConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        check_distance("mean", self.mean)
    }
}

/// Checks that `mean` can be the mean of a distance.
pub(super) fn check_distance(key: &str, mean: Bytes) -> Result<(), Problem> {
    if mean == Bytes::ZERO {
        return Err(Problem::new(key, "must be at least 1 B"));
    }
    Ok(())
}

#[derive(Debug, Clone)]
pub(crate) struct Distance {
    mean: Bytes,
    left: u64,
    stream: RandomStream,
}

impl Distance {
    pub(super) fn new(config: &DistanceConfig, stream: RandomStream) -> Self {
        Self::with_mean(config.mean, stream)
    }

    /// Returns a model with this mean. An exponential draw rounded down to bytes keeps both properties that matter: it
    /// is memoryless, and it lies below s with probability 1 − exp(−s ÷ mean).
    pub(super) fn with_mean(mean: Bytes, mut stream: RandomStream) -> Self {
        Self {
            mean,
            left: stream.exponential(mean.get()),
            stream,
        }
    }

    pub(super) fn loses(&mut self, size: Bytes) -> bool {
        let hit = self.left < size.get();
        self.left = match self.left.checked_sub(size.get()) {
            Some(left) => left,
            // Memoryless: the distance after the packet is a new draw, however many errors it holds.
            None => self.stream.exponential(self.mean.get()),
        };
        hit
    }
}
