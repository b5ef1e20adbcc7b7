//! What an endpoint has done.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// What an [`Endpoint`](crate::Endpoint) has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// What its connections did, those that are gone included.
    pub traffic: Traffic,
    /// What became of its connections.
    pub connections: Connections,
    /// What did not belong to any.
    pub refused: Refused,
}

/// What went over connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// What was sent.
    pub sent: Sent,
    /// What was received.
    pub received: Received,
    /// Timers that went off and sent something.
    pub timeouts: u64,
}

/// What went out. Bytes are those of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Control packets.
    pub control_packets: u64,
    /// Packets with data, or with the end of a stream.
    pub data_packets: u64,
    /// Data, every transmission counted.
    pub bytes: u64,
    /// Of the packets with data those that had been sent before.
    pub repairs: u64,
    /// Data that had been sent before.
    pub repaired_bytes: u64,
    /// Packets without data.
    pub acknowledgments: u64,
    /// Requests to send again (RRQ).
    pub requests: u64,
    /// Packets that ask for an answer.
    pub polls: u64,
}

/// What came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Received {
    /// Packets of connections.
    pub packets: u64,
    /// Data handed on in order, in bytes.
    pub bytes: u64,
    /// Packets with data beyond a hole.
    pub out_of_order: u64,
    /// Packets with data all of which had arrived before.
    pub duplicates: u64,
    /// Packets with data beyond the window, longer than agreed, after the end, or beyond what is kept in pieces.
    pub violations: u64,
    /// Acknowledgements of what was never sent.
    pub impossible: u64,
    /// Requests that were followed.
    pub followed: u64,
    /// Requests that told nothing new: they were caused by packets sent before the last repair.
    pub ignored: u64,
}

/// What became of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Asked for by this end.
    pub opened: u64,
    /// Asked for by the other end.
    pub arrived: u64,
    /// Ended with both streams whole.
    pub finished: u64,
    /// Not made, or broken, for any reason.
    pub reset: u64,
}

/// What did not belong to any connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Refused {
    /// Packets that could not be read.
    pub damaged: u64,
    /// Packets of connections that do not exist, or that do not fit theirs.
    pub strays: u64,
    /// Connections refused because there were too many.
    pub busy: u64,
    /// Connections refused because nobody listens, or for lack of a common profile.
    pub unwanted: u64,
    /// Resets that did not prove to come from the connection's other end.
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
