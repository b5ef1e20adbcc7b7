//! The counters of an endpoint.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an [`Endpoint`](crate::Endpoint) has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Traffic of all its connections, closed ones included.
    pub traffic: Traffic,
    /// Counters of connections by their outcome.
    pub connections: Connections,
    /// Counters of packets and requests that were refused.
    pub refused: Refused,
}

/// What went over connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Counters of the sender.
    pub sent: Sent,
    /// Counters of the receiver.
    pub received: Received,
    /// Timers that expired and sent something.
    pub timeouts: u64,
}

/// What went out. Bytes are those of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// Control packets.
    pub control_packets: u64,
    /// Packets with data, or with the end of a stream.
    pub data_packets: u64,
    /// Bytes of data, every transmission counted.
    pub bytes: u64,
    /// Packets with data that had been sent before, part of `data_packets`.
    pub repairs: u64,
    /// Bytes of data that had been sent before.
    pub repaired_bytes: u64,
    /// Packets without data.
    pub acknowledgments: u64,
    /// Retransmission requests (RRQ).
    pub requests: u64,
    /// Packets that poll.
    pub polls: u64,
}

/// What came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Received {
    /// Packets that belong to connections.
    pub packets: u64,
    /// Bytes of data handed on in order.
    pub bytes: u64,
    /// Packets with data beyond a hole.
    pub out_of_order: u64,
    /// Packets whose data had all arrived before.
    pub duplicates: u64,
    /// Packets with data beyond the window, longer than agreed, after the end, or beyond the limit of pieces.
    pub violations: u64,
    /// Acknowledgements of data that were never sent.
    pub impossible: u64,
    /// Requests that caused a retransmission.
    pub followed: u64,
    /// Requests that caused none: packets sent before the last repair caused them.
    pub ignored: u64,
}

/// What became of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Opened by this end.
    pub opened: u64,
    /// Opened by the peer.
    pub arrived: u64,
    /// Ended with both streams complete.
    pub finished: u64,
    /// Not established, or reset, for any reason.
    pub reset: u64,
}

/// What did not belong to any connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// Packets that could not be parsed.
    pub damaged: u64,
    /// Packets of connections that do not exist, or that do not fit their connection.
    pub strays: u64,
    /// Connections refused because there were too many.
    pub busy: u64,
    /// Connections refused because no application listens, or for lack of a common profile.
    pub unwanted: u64,
    /// Resets that did not prove to come from the peer of the connection.
    pub forged_resets: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.timeouts += other.timeouts;
    }
}

impl AddAssign for Sent {
    fn add_assign(&mut self, other: Self) {
        self.control_packets += other.control_packets;
        self.data_packets += other.data_packets;
        self.bytes += other.bytes;
        self.repairs += other.repairs;
        self.repaired_bytes += other.repaired_bytes;
        self.acknowledgments += other.acknowledgments;
        self.requests += other.requests;
        self.polls += other.polls;
    }
}

impl AddAssign for Received {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.out_of_order += other.out_of_order;
        self.duplicates += other.duplicates;
        self.violations += other.violations;
        self.impossible += other.impossible;
        self.followed += other.followed;
        self.ignored += other.ignored;
    }
}
