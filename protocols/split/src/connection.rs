//! A split connection and its state.

use association::StreamId;
use redirector::Side;
use serde::{Deserialize, Serialize};
use units::SeqNumber;
use wire::flow::Ends;
use wire::packet::Packet;

/// Identifier of a stream: its peer, and its ID there.
pub(crate) type StreamName = (usize, StreamId);

/// Origin of a connection.
#[derive(Debug)]
pub(crate) enum Requester {
    /// A packet, which is held.
    Packet {
        /// Initial sequence number of the packet, which identifies copies of one request.
        sequence: SeqNumber,
        packet: Packet,
    },
    /// A stream from the other end of the hop.
    Stream(StreamName),
    /// A connection that was accepted at once.
    Accepted,
}

/// State of a connection.
#[derive(Debug)]
pub(crate) enum Stage {
    /// The request was sent to the destination.
    Asking(Requester),
    /// The destination has answered, and the held request was passed to the listener, which is to accept it.
    LetIn,
    /// Both halves exist.
    Joined,
    /// Both halves are to end; buffered bytes are still sent.
    Ending,
}

/// One half of a split connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Half {
    /// A socket of the driver.
    Socket(Sending),
    /// A stream across the hop.
    Stream(StreamName, Sending),
}

/// State of the sending direction of a half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sending {
    /// More bytes may be written.
    Open,
    /// It ends when all bytes are written.
    Finishing,
    /// It has ended.
    Finished,
}

impl Half {
    pub(crate) fn sending(&mut self) -> &mut Sending {
        match self {
            Self::Socket(sending) | Self::Stream(_, sending) => sending,
        }
    }
}

/// A split connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) ends: Ends,
    /// Side that requested it.
    pub(crate) asker: Side,
    /// Index of the peer of its mobile host.
    pub(crate) owner: usize,
    pub(crate) stage: Stage,
    /// Set if the destination has finished before the requesting half existed.
    pub(crate) finished_early: bool,
    /// Stream across the hop, if it has one.
    pub(crate) stream: Option<StreamName>,
    fixed: Option<Half>,
    mobile: Option<Half>,
}

impl Connection {
    /// Returns a connection that was requested.
    pub(crate) fn asked(ends: Ends, asker: Side, owner: usize, by: Requester) -> Self {
        let stream = match by {
            Requester::Packet { .. } | Requester::Accepted => None,
            Requester::Stream(name) => Some(name),
        };
        Self {
            ends,
            asker,
            owner,
            stage: Stage::Asking(by),
            finished_early: false,
            stream,
            fixed: None,
            mobile: None,
        }
    }

    /// Returns a connection of another splitter, without its halves.
    pub(crate) fn resumed(
        ends: Ends,
        asker: Side,
        owner: usize,
        stream: Option<StreamName>,
    ) -> Self {
        Self {
            stage: Stage::Joined,
            stream,
            ..Self::asked(ends, asker, owner, Requester::Accepted)
        }
    }

    pub(crate) fn half(&mut self, side: Side) -> &mut Option<Half> {
        match side {
            Side::Fixed => &mut self.fixed,
            Side::Mobile => &mut self.mobile,
        }
    }

    /// Returns true if no half is left.
    pub(crate) fn is_over(&self) -> bool {
        self.fixed.is_none() && self.mobile.is_none()
    }
}
