//! A connection that is split, and how far it is.

use association::StreamId;
use redirector::Side;
use units::SeqNumber;
use wire::flow::Ends;
use wire::packet::Packet;

/// The name of a stream: its peer, and its name there.
pub(crate) type StreamName = (usize, StreamId);

/// How a connection was asked for.
#[derive(Debug)]
pub(crate) enum Asker {
    /// By a packet, which is held.
    Packet {
        /// The first number of its stream, by which copies of one request are known.
        sequence: SeqNumber,
        packet: Packet,
    },
    /// By the other end of the hop.
    Stream(StreamName),
    /// By a connection that was accepted at once.
    Accepted,
}

/// How far a connection is.
#[derive(Debug)]
pub(crate) enum Stage {
    /// The other host is asked.
    Asking(Asker),
    /// The other host has answered, and the request was let in: the listener is to accept it.
    LetIn,
    /// Both halves are there.
    Joined,
    /// Both halves are to end; what is written goes out still.
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

/// How far the sending direction of a half is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// It goes on.
    Open,
    /// It is to end when all is written.
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

/// A connection that is split.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) ends: Ends,
    /// The side on which it was asked for.
    pub(crate) asker: Side,
    /// The mobile host that has it: its place in the configuration.
    pub(crate) owner: usize,
    pub(crate) stage: Stage,
    /// The host that was asked has finished before the asker's half was there.
    pub(crate) finished_early: bool,
    /// Its stream across the hop, if it has one.
    pub(crate) stream: Option<StreamName>,
    fixed: Option<Half>,
    mobile: Option<Half>,
}

impl Connection {
    /// Returns a connection that was asked for.
    pub(crate) fn asked(ends: Ends, asker: Side, owner: usize, by: Asker) -> Self {
        let stream = match by {
            Asker::Packet { .. } | Asker::Accepted => None,
            Asker::Stream(name) => Some(name),
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
