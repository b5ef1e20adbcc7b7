//! What is counted.

use serde::{Deserialize, Serialize};

use crate::ChoiceStatus;

/// What a splitter has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Connections that exist.
    pub open: u64,
    /// Connections that were asked for.
    pub asked: u64,
    /// Those of them that were made.
    pub joined: u64,
    /// Of these, the ones that cross the hop as streams.
    pub on_streams: u64,
    /// Those that the other host, or the way to it, refused.
    pub refused: u64,
    /// Those for which there was no room.
    pub without_room: u64,
    /// Requests of fixed hosts that had to prove first that they are there.
    pub challenged: u64,
    /// Connections that came to the listener without having been let in.
    pub strangers: u64,
    /// Connections that both sides finished.
    pub finished: u64,
    /// Connections that were reset.
    pub reset: u64,
    /// Connections on which nothing happened for too long.
    pub idle: u64,
    /// What was carried.
    #[serde(flatten)]
    pub carried: Carried,
}

/// What a splitter has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Carried {
    /// Bytes that were written towards mobile hosts.
    pub bytes_to_mobiles: u64,
    /// Bytes that were written towards fixed hosts.
    pub bytes_to_fixed: u64,
}

/// Connections that are split, or were not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitStatus {
    /// What became of them.
    #[serde(flatten)]
    pub counters: Counters,
    /// The way by which connections were let across, where that is chosen for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<ChoiceStatus>,
}
