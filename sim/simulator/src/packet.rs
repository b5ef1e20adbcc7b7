//! What crosses the links.

use std::fmt::Debug;

use units::Bytes;

/// A packet as a value.
pub trait Packet: Clone {
    /// What tells one conversation from another; both of its directions may share it.
    type Flow: Copy + Ord + Debug;

    /// How long the packet is at the network layer, before a link adds its framing.
    fn length(&self) -> Bytes;

    /// The conversation that it belongs to.
    fn flow(&self) -> Self::Flow;

    /// Whether it goes before others that wait for a link.
    fn goes_ahead(&self) -> bool {
        false
    }
}

/// A packet that also exists as bytes: an IP packet with its header.
pub trait Coding: Packet {
    /// Appends the packet's bytes to `into`; there are [`length`](Packet::length) of them.
    fn encode(&self, into: &mut Vec<u8>);

    /// Appends the first bytes of the packet, at most `most`, as a capture on its way shows them. A packet that is
    /// quicker to write in part, perhaps without a checksum over all, says so here.
    fn encode_head(&self, most: usize, into: &mut Vec<u8>) {
        let start = into.len();
        self.encode(into);
        into.truncate(start.saturating_add(most));
    }

    /// The packet that these bytes are; the error says what is wrong with them.
    fn parse(bytes: &[u8]) -> Result<Self, String>;
}
