//! A stream across the hop.

use hosts::StreamLane;
use mtcp::{ConnectionId, Input, Reason};
use redirector::{Chunks, Content};

use super::port::Streams;

/// A connection's end, in which the other thread writes. Dropped before it has ended, it resets its connection.
#[derive(Debug)]
pub(super) struct HopStream {
    lane: StreamLane,
    id: ConnectionId,
    streams: Streams,
    /// What came and was not read.
    arrived: Chunks,
    /// What can be written.
    room: u64,
    /// Nothing comes after what arrived.
    pub(super) ended: bool,
    /// Nothing will be written any more.
    finished: bool,
    /// The connection is gone, or left to the hop.
    let_go: bool,
}

impl HopStream {
    /// That end of a connection of which at most `leave` bytes may wait to be read.
    pub(super) fn new(
        (lane, id): (StreamLane, ConnectionId),
        streams: Streams,
        leave: u64,
    ) -> Self {
        let stream = Self {
            lane,
            id,
            streams,
            arrived: Chunks::default(),
            room: 0,
            ended: false,
            finished: false,
            let_go: false,
        };
        stream.ask(Input::Read(id, leave));
        stream
    }

    fn ask(&self, input: Input<Chunks>) {
        self.streams.ask(self.lane, input);
    }

    /// More came.
    pub(super) fn arrive(&mut self, content: Chunks) {
        self.arrived.append(content);
    }

    /// How many bytes can be read.
    pub(super) fn available(&self) -> u64 {
        self.arrived.length()
    }

    /// Reads at most `count` bytes; as many more may come.
    pub(super) fn read(&mut self, count: u64) -> Chunks {
        let content = self.arrived.take_front(count);
        if content.length() > 0 && !self.ended {
            self.ask(Input::Read(self.id, content.length()));
        }
        content
    }

    /// So much can be written now.
    pub(super) fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// How much can be written.
    pub(super) fn room(&self) -> u64 {
        self.room
    }

    /// Writes `content`.
    pub(super) fn write(&mut self, content: Chunks) {
        self.room = self.room.saturating_sub(content.length());
        self.ask(Input::Write(self.id, content));
    }

    /// Nothing more will be written.
    pub(super) fn finish(&mut self) {
        if !self.finished {
            self.finished = true;
            self.ask(Input::Close(self.id));
        }
    }

    /// Whether its end has been written.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The connection is gone, or the hop sees to the rest of it.
    pub(super) fn let_go(mut self) {
        self.let_go = true;
    }
}

impl Drop for HopStream {
    fn drop(&mut self) {
        if !self.let_go {
            self.ask(Input::Abort(self.id, Reason::Aborted));
        }
    }
}
