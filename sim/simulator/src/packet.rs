//! Packets that cross the links.

use std::fmt::Debug;

use units::Bytes;

/// A packet as a value.
pub trait Packet: Clone {
    /// Identifier of a flow; both of its directions may share it.
    type Flow: Copy + Ord + Debug;

    /// Returns the length of the packet at the network layer, before a link adds its framing.
    fn length(&self) -> Bytes;

    /// Returns the flow that it belongs to.
    fn flow(&self) -> Self::Flow;

    /// Returns true if it goes ahead of others that wait for a link.
    fn goes_ahead(&self) -> bool {
        false
    }
}

/// A packet that can be encoded: an IP packet with its header.
pub trait Coding: Packet {
    /// Appends the packet's bytes to `into`; their number is [`length`](Packet::length).
    fn encode(&self, into: &mut Vec<u8>);

    /// Appends the first bytes of the packet, at most `most`, for a capture. A packet that is faster to write in part,
    /// perhaps without a checksum over all of it, overrides this.
    fn encode_head(&self, most: usize, into: &mut Vec<u8>) {
        let start = into.len();
        self.encode(into);
        into.truncate(start.saturating_add(most));
    }

    /// Parses a packet; the error describes the fault.
    fn parse(bytes: &[u8]) -> Result<Self, String>;
}
