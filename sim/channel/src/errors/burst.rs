//! Bursts of exactly n packets.
//!
//! The burst test of Balakrishnan et al., IEEE/ACM Trans. Networking 5(6), 1997: one burst per 64 KB on average, each
//! destroying 2, 4 or 6 packets. The paper leaves open whether the distance counts from the beginning or the end of a
//! burst. Here it counts from the end, so bursts never overlap: with packets of s bytes and q = 1 − exp(−s ÷ spacing),
//! the share n ÷ (n + 1/q − 1) is lost.

use machine::RandomStream;
use serde::Deserialize;
use units::Bytes;

use super::distance::{Distance, check_distance};
use crate::problem::Problem;

/// Parameters of bursts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstConfig {
    /// Number of consecutive packets that a burst destroys.
    pub packets: u64,
    /// Mean distance from the end of one burst to the beginning of the next.
    pub spacing: Bytes,
}

impl BurstConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.packets == 0 {
            return Err(Problem::new("packets", "must be at least 1"));
        }
        check_distance("spacing", self.spacing)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Burst {
    packets: u64,
    distance: Distance,
    /// Number of the next packets that belong to the burst.
    left: u64,
}

impl Burst {
    pub(super) fn new(config: &BurstConfig, stream: RandomStream) -> Self {
        Self {
            packets: config.packets,
            distance: Distance::with_mean(config.spacing, stream),
            left: 0,
        }
    }

    pub(super) fn loses(&mut self, size: Bytes) -> bool {
        if self.left == 0 && self.distance.loses(size) {
            self.left = self.packets;
        }
        let lost = self.left > 0;
        self.left -= u64::from(lost);
        lost
    }
}
