//! The counters of a splitter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ChoiceStatus;

/// What a splitter has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Connections that exist now.
    pub open: u64,
    /// Requests for connections.
    pub asked: u64,
    /// Requests that led to a connection.
    pub joined: u64,
    /// Connections that cross the hop as streams, part of `joined`.
    pub on_streams: u64,
    /// Requests that the destination, or a router on the path, refused.
    pub refused: u64,
    /// Requests for which there was no room.
    pub without_room: u64,
    /// Requests by fixed hosts that first had to prove their address.
    pub challenged: u64,
    /// Connections to the listener without a request that was let in.
    pub strangers: u64,
    /// Connections that both sides finished.
    pub finished: u64,
    /// Connections that were reset.
    pub reset: u64,
    /// Connections that were idle for too long.
    pub idle: u64,
    /// Bytes carried.
    #[serde(flatten)]
    pub carried: Carried,
}

/// What a splitter has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// Bytes written towards mobile hosts.
    pub bytes_to_mobiles: u64,
    /// Bytes written towards fixed hosts.
    pub bytes_to_fixed: u64,
}

/// Connections that are split, or were not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SplitStatus {
    /// Counters of connections.
    #[serde(flatten)]
    pub counters: Counters,
    /// Report of choices, if each connection has its own choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<ChoiceStatus>,
}
