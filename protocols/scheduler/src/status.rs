//! The status of a destination.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

/// Counters of one destination, and the state of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// True if its channel is presumed bad.
    pub is_marked: bool,
    /// Number of times that it was served.
    pub served: u64,
    /// Number of probes.
    pub probed: u64,
    /// Airtime used for it.
    pub airtime: Duration,
    /// Number of acknowledged transmissions.
    pub delivered: u64,
    /// Number of transmissions without an acknowledgement.
    pub missing: u64,
    /// Number of bursts of losses that have ended.
    pub bursts: u64,
    /// Mean length of these bursts, smoothed.
    pub burst_length: Option<Duration>,
    /// Mean deviation of that length.
    pub burst_deviation: Option<Duration>,
}
