//! The two streams of a connection that is split, and how far it is.

use edges::transparent::Ends;
use hosts::StreamLane;
use mtcp::ConnectionId;
use redirector::Side;
use units::{Instant, SeqNumber};
use wire::packet::Packet;

use super::stream::Stream;

/// A connection across the hop.
pub(super) type HopName = (StreamLane, ConnectionId);

/// How a connection was asked for.
#[derive(Debug)]
pub(super) enum Asker {
    /// By a packet, which is held.
    Packet {
        /// The first number of its stream, by which copies of one request are known.
        sequence: SeqNumber,
        packet: Packet,
    },
    /// By the other end of the hop.
    Hop(HopName),
}

/// How far a connection is.
#[derive(Debug)]
pub(super) enum Stage {
    /// The other host is asked; this is who asked.
    Asking(Asker),
    /// The other host has answered, and the request was let in: the listener is to accept it.
    LetIn,
    /// Both streams are there.
    Joined,
    /// Both are to end; what is written goes out still.
    Ending,
}

/// A connection that is split.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) ends: Ends,
    /// On whose side it was asked for.
    pub(super) asker: Side,
    /// Which mobile host has it.
    pub(super) owner: usize,
    pub(super) stage: Stage,
    /// When it is given up in this stage, if it ever is.
    pub(super) deadline: Option<Instant>,
    /// Who was asked has finished before the stream of who asked was there.
    pub(super) finished_early: bool,
    /// What it is called on the hop, if it crosses it as a stream.
    pub(super) on_the_hop: Option<HopName>,
    fixed: Option<Stream>,
    mobile: Option<Stream>,
}

impl Joint {
    /// A connection of the mobile host `owner` that was asked for on a side.
    pub(super) fn asked(ends: Ends, (asker, owner): (Side, usize), by: Asker) -> Self {
        let on_the_hop = match by {
            Asker::Packet { .. } => None,
            Asker::Hop(name) => Some(name),
        };
        Self {
            ends,
            asker,
            owner,
            stage: Stage::Asking(by),
            deadline: None,
            finished_early: false,
            on_the_hop,
            fixed: None,
            mobile: None,
        }
    }

    pub(super) fn stream(&mut self, side: Side) -> &mut Option<Stream> {
        match side {
            Side::Fixed => &mut self.fixed,
            Side::Mobile => &mut self.mobile,
        }
    }

    /// Ends both streams: one whose end waits to be written goes on until it is, any other is reset. Whether nothing
    /// is left to do.
    pub(super) fn end(&mut self) -> bool {
        self.stage = Stage::Ending;
        for stream in [&mut self.fixed, &mut self.mobile] {
            match stream.take() {
                Some(stream) if stream.is_finished() => stream.let_go(),
                Some(waiting) if waiting.is_finishing() => *stream = Some(waiting),
                _ => {}
            }
        }
        self.fixed.is_none() && self.mobile.is_none()
    }
}
