//! What there is to tell of a destination.

use serde::{Deserialize, Serialize};
use units::Duration;

/// What a scheduler did for one destination, and what it knows of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// Whether its channel is taken for bad.
    pub is_marked: bool,
    /// How often it was picked.
    pub served: u64,
    /// How often it was probed.
    pub probed: u64,
    /// For how long the air was used for it.
    pub airtime: Duration,
    /// Transmissions that were acknowledged.
    pub delivered: u64,
    /// Transmissions that were not.
    pub missing: u64,
    /// Bursts of losses that have ended.
    pub bursts: u64,
    /// Their mean length, smoothed.
    pub burst_length: Option<Duration>,
    /// Its mean deviation.
    pub burst_deviation: Option<Duration>,
}
