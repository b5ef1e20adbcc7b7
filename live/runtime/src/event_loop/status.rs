//! The status of a daemon: its control socket gives it as JSON, and `lasthop status` reads it.

use edges::bearer::{BearerCounters, DatagramBearer};
use edges::clock;
use edges::tun::{DeviceCounters, PacketDevice};
use serde::{Deserialize, Serialize};
use split::SplitStatus;
use units::Bytes;

use super::EventLoop;
use crate::host::DrivenHost;

/// The state of a daemon whose host's is an `H`. A reader of another version ignores fields that it does not know; a
/// field that it misses is an error, unless the field is optional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status<H = hosts::Status> {
    /// The daemon's version.
    pub version: String,
    /// Time since it was started, in seconds.
    pub uptime_s: f64,
    /// The most memory that the whole process may hold.
    pub memory_most: Bytes,
    /// Its host.
    pub host: H,
    /// Its packet device.
    pub device: DeviceStatus,
    /// The bearer of its frames.
    pub bearer: BearerStatus,
    /// TCP connections that are split, where any may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitStatus>,
}

/// Counts of a packet device, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// Counts of the device itself.
    #[serde(flatten)]
    pub counters: DeviceCounters,
    /// Packets for which the device had no room.
    pub without_room: u64,
    /// Packets that the device refused: it is down, or they are malformed.
    pub refused: u64,
}

/// Counts of a bearer, in datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BearerStatus {
    /// Counts of the bearer itself.
    #[serde(flatten)]
    pub counters: BearerCounters,
    /// Datagrams for which the socket had no room.
    pub without_room: u64,
}

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Returns the state of host, ports and loop.
    pub(super) fn status(&self) -> Status<H::Status> {
        let now = clock::monotonic();
        let counters = self.work.counters;
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_s: now.since(self.started).as_millis() as f64 / 1e3,
            memory_most: self.memory_most(),
            host: self.host.status(now),
            device: DeviceStatus {
                counters: self.ports.device.counters(),
                without_room: counters.packets_without_room,
                refused: counters.packets_refused,
            },
            bearer: BearerStatus {
                counters: self.ports.bearer.counters(),
                without_room: self.work.outbox.dropped(),
            },
            split: self.host.split_status(),
        }
    }
}
