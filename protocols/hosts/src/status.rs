//! How a host does.

use serde::Serialize;
use units::{Bytes, Duration};
use wire::address::HopAddress;

use crate::{Choice, Limit, Registration, Role};

/// How a host does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Which end of the hop it is.
    pub role: Role,
    /// Its public key.
    pub public_key: String,
    /// Its peers.
    pub peers: Vec<PeerStatus>,
    /// Datagrams dropped, by cause; causes that never occurred are left out.
    pub datagrams_dropped: Vec<(String, u64)>,
    /// Packets that belong to no peer.
    pub packets_unroutable: u64,
    /// Frames that could not be sent for want of keys or of an address.
    pub frames_unsent: u64,
    /// Bytes that are held for all peers.
    pub memory: Bytes,
    /// How many may be.
    pub memory_most: Bytes,
}

/// How one peer does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerStatus {
    /// What the operator calls it.
    pub name: String,
    /// Where it is.
    pub endpoint: Option<HopAddress>,
    /// How old the current keys are; nothing if there are none.
    pub keys_age: Option<Duration>,
    /// Whether it is here.
    pub registration: Registration,
    /// For how long no datagram has been able to leave this host for it, as its link is down or no route leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable_for: Option<Duration>,
    /// Packets from inner addresses that are not its own.
    pub packets_refused: u64,
    /// By which way its TCP connections cross that begin now, where that is chosen for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// What limits the hop to it now.
    pub limit: Limit,
    /// The hop to it.
    pub hop: association::Status,
    /// Its part in an air that it shares with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub air: Option<air::AirStatus>,
}
