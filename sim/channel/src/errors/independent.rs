//! Loss of each packet with the same probability, independent of all others.
//!
//! The memoryless channel of textbooks; the `p1` and `p5` links of the benchmarks.

use machine::RandomStream;
use serde::Deserialize;
use units::Probability;

/// Parameters of independent loss.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndependentConfig {
    /// Probability that a packet is lost.
    pub p: Probability,
}

#[derive(Debug, Clone)]
pub(crate) struct Independent {
    p: Probability,
    stream: RandomStream,
}

impl Independent {
    pub(super) fn new(config: &IndependentConfig, stream: RandomStream) -> Self {
        Self {
            p: config.p,
            stream,
        }
    }

    pub(super) fn loses(&mut self) -> bool {
        self.stream.chance(self.p)
    }
}
