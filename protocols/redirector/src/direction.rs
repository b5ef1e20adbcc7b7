//! One direction of a binding: from the stream that is read to the stream that is written.

use crate::Content;
use crate::state::DirectionState;

/// Buffer between two streams, and the state of both.
#[derive(Debug, Default)]
pub(crate) struct Direction<C> {
    buffer: C,
    /// Bytes that the source holds, requested ones included.
    available: u64,
    /// Bytes requested and not delivered.
    asked: u64,
    /// Bytes that the sink accepts.
    room: u64,
    source_finished: bool,
    sink_finished: bool,
}

/// Next action in a direction.
pub(crate) enum Step<C> {
    Read(u64),
    Write(C),
    Finish,
}

impl<C: Content> Direction<C> {
    /// Returns the direction of another redirector, whose streams have not reported anything yet.
    pub(crate) fn from_state(state: DirectionState<C>) -> Self {
        Self {
            buffer: state.buffer,
            available: 0,
            asked: 0,
            room: 0,
            source_finished: false,
            sink_finished: state.sink_finished,
        }
    }

    /// Returns its state. Bytes that were requested and not delivered are still in the source.
    pub(crate) fn into_state(self) -> DirectionState<C> {
        DirectionState {
            buffer: self.buffer,
            sink_finished: self.sink_finished,
        }
    }

    /// Returns the next action, if any, with a buffer of `capacity` bytes, and marks it as done.
    pub(crate) fn next_step(&mut self, capacity: u64) -> Option<Step<C>> {
        let ready = self.buffer.length().min(self.room);
        if ready > 0 {
            self.room -= ready;
            return Some(Step::Write(self.buffer.take_front(ready)));
        }
        let free = capacity.saturating_sub(self.buffer.length());
        let wanted = free.min(self.available);
        if self.asked == 0 && wanted > 0 {
            self.asked = wanted;
            return Some(Step::Read(wanted));
        }
        if self.source_finished && !self.sink_finished && self.is_drained() {
            self.sink_finished = true;
            return Some(Step::Finish);
        }
        None
    }

    /// Notes that the source holds `available` bytes.
    pub(crate) fn readable(&mut self, available: u64) {
        self.available = available;
    }

    /// Notes that the sink accepts `room` bytes.
    pub(crate) fn writable(&mut self, room: u64) {
        self.room = room;
    }

    /// Adds bytes from the source. Returns false if there are more than were requested.
    #[must_use]
    pub(crate) fn deliver(&mut self, content: C) -> bool {
        let length = content.length();
        let in_bounds = length <= self.asked;
        if in_bounds {
            self.asked = 0;
            self.available = self.available.saturating_sub(length);
            self.buffer.append(content);
        }
        in_bounds
    }

    /// Notes that the source ends after the bytes that it holds.
    pub(crate) fn finish(&mut self) {
        self.source_finished = true;
    }

    /// Returns true if the sink was finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.sink_finished
    }

    /// Returns the number of bytes in the buffer.
    pub(crate) fn buffered(&self) -> u64 {
        self.buffer.length()
    }

    fn is_drained(&self) -> bool {
        self.available == 0 && self.asked == 0 && self.buffer.length() == 0
    }
}
