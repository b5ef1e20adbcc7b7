//! The inputs and outputs of a channel.

use units::Bytes;

use crate::Direction;
use crate::counters::Cause;
use crate::errors::StateChange;
use crate::journey::BitFlips;

/// An input of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<T> {
    /// A packet for the channel.
    Send {
        /// Direction of the packet.
        direction: Direction,
        /// Size on the air: that of its Ethernet frame.
        size: Bytes,
        /// Content of the packet.
        payload: T,
    },
    /// A packet that goes ahead of the queue, after others that went ahead of it.
    SendAhead {
        /// Direction of the packet.
        direction: Direction,
        /// Size on the air: that of its Ethernet frame.
        size: Bytes,
        /// Content of the packet.
        payload: T,
    },
}

/// An output of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<T> {
    /// A packet arrives.
    Deliver {
        /// Direction of the packet.
        direction: Direction,
        /// Content of the packet.
        payload: T,
    },
    /// A packet arrives with flipped bits.
    DeliverCorrupted {
        /// Direction of the packet.
        direction: Direction,
        /// Content of the packet, as it was sent.
        payload: T,
        /// The bits that were flipped on its way.
        flips: BitFlips,
    },
    /// A packet is lost.
    Drop {
        /// Direction of the packet.
        direction: Direction,
        /// Content of the packet.
        payload: T,
        /// Reason of the loss.
        cause: Cause,
    },
    /// The state of a direction changes; only from a channel [with state notes](crate::Channel::with_state_notes).
    State {
        /// Direction whose state changes.
        direction: Direction,
        /// The change of state.
        change: StateChange,
    },
}
