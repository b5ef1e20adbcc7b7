//! The bytes of a connection, and its end.

use association::{Reason, StreamRequest};
use machine::Machine;
use planted::Bug;
use redirector::{BindingId, Content, Input, Output, Side, Stream as SocketId};
use units::Instant;

use super::{ENDING, Splitter, half};
use crate::connection::{Connection, Half, Sending, Stage, StreamName};
use crate::{SocketEvent, SocketRequest, SystemRequest};

impl<C: Content + Default> Splitter<C> {
    /// Handles an event of a socket.
    pub(super) fn socket(&mut self, now: Instant, id: SocketId, event: SocketEvent<C>) {
        let Some(connection) = self.table.connections.get_mut(&id.binding) else {
            return;
        };
        let is_asking = matches!(connection.stage, Stage::Asking(_));
        let Some(Half::Socket(sending)) = connection.half(id.side) else {
            return;
        };
        match event {
            SocketEvent::Connected => self.let_in(now, id.binding),
            SocketEvent::Readable(available) => self.events.push_back(Input::Readable {
                stream: id,
                available,
            }),
            SocketEvent::Data(content) => self.events.push_back(Input::Data {
                stream: id,
                content,
            }),
            SocketEvent::Writable(room) => self.writable(id, room),
            SocketEvent::Finished => self.events.push_back(Input::Finished(id)),
            SocketEvent::Flushed => {
                *sending = Sending::Finished;
                if matches!(connection.stage, Stage::Ending) {
                    self.end(id.binding);
                }
            }
            SocketEvent::Failed(refusal) if is_asking => self.refuse(id, refusal),
            SocketEvent::Failed(_) if planted::is(Bug::ResetIsAnEnd) => {
                self.events.push_back(Input::Finished(id));
            }
            SocketEvent::Failed(_) => self.broken(id),
        }
    }

    /// Notes that this many bytes can be written to a half now.
    pub(super) fn writable(&mut self, id: SocketId, room: u64) {
        self.events.push_back(Input::Writable { stream: id, room });
    }

    /// Handles a half that has failed.
    pub(super) fn broken(&mut self, id: SocketId) {
        self.reset_half(id);
        let Some(connection) = self.table.connections.get(&id.binding) else {
            return;
        };
        if matches!(connection.stage, Stage::Ending) {
            self.end(id.binding);
        } else {
            self.events.push_back(Input::Reset(id));
        }
    }

    /// Carries out the outputs of the redirector, and passes it the resulting events, until there are no more.
    pub(super) fn settle(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.redirector.poll_output() {
                self.carry_out(now, output);
            }
            match self.events.pop_front() {
                Some(input) => self.redirector.handle_input(now, input),
                None => return,
            }
        }
    }

    fn carry_out(&mut self, now: Instant, output: Output<C>) {
        match output {
            Output::Connect {
                stream,
                destination,
            } => self.connect(stream, destination),
            Output::Read { stream, count } => match self.half(stream) {
                Some(Half::Socket(_)) => self.ask_socket(stream, SocketRequest::Read(count)),
                Some(Half::Stream((peer, id), _)) => {
                    self.ask_stream(peer, StreamRequest::Read(id, count));
                }
                None => {}
            },
            Output::Write { stream, content } => match self.half(stream) {
                Some(Half::Socket(_)) => self.ask_socket(stream, SocketRequest::Write(content)),
                Some(Half::Stream((peer, id), _)) => {
                    self.ask_stream(peer, StreamRequest::Write(id, content));
                }
                None => {}
            },
            Output::Finish(stream) => self.finish(stream),
            Output::Reset(stream) => self.reset_half(stream),
            Output::Closed(id) => self.close(now, id),
        }
    }

    fn half(&mut self, id: SocketId) -> Option<Half> {
        *self.table.connections.get_mut(&id.binding)?.half(id.side)
    }

    fn ask_socket(&mut self, id: SocketId, request: SocketRequest<C>) {
        self.ask_system(SystemRequest::Socket(id, request));
    }

    /// Finishes a half: nothing more will be written to it.
    pub(super) fn finish(&mut self, id: SocketId) {
        let Some(connection) = self.table.connections.get_mut(&id.binding) else {
            return;
        };
        let Some(half) = connection.half(id.side) else {
            connection.finished_early = true;
            return;
        };
        if *half.sending() != Sending::Open {
            return;
        }
        match half {
            Half::Socket(sending) => {
                *sending = Sending::Finishing;
                self.ask_socket(id, SocketRequest::Finish);
            }
            Half::Stream((peer, name), sending) => {
                // The association completes it.
                *sending = Sending::Finished;
                let (peer, name) = (*peer, *name);
                self.ask_stream(peer, StreamRequest::Close(name));
            }
        }
    }

    /// Removes a half, and resets it.
    pub(super) fn reset_half(&mut self, id: SocketId) {
        let connection = self.table.connections.get_mut(&id.binding);
        match connection.and_then(|connection| connection.half(id.side).take()) {
            Some(Half::Socket(_)) => self.reset_socket(id),
            Some(Half::Stream(name, _)) => self.abort_stream(name),
            None => {}
        }
    }

    pub(crate) fn reset_socket(&mut self, id: SocketId) {
        self.ask_socket(id, SocketRequest::Reset);
    }

    pub(crate) fn abort_stream(&mut self, (peer, name): StreamName) {
        self.ask_stream(peer, StreamRequest::Abort(name, Reason::Aborted));
    }

    /// Closes a connection after its binding has closed: written bytes are still sent.
    fn close(&mut self, now: Instant, id: BindingId) {
        let Some(connection) = self.table.connections.get_mut(&id) else {
            return;
        };
        connection.stage = Stage::Ending;
        let ends = connection.ends;
        if self.table.by_ends.get(&ends) == Some(&id) {
            self.remember(now, ends);
            self.table.by_ends.remove(&ends);
        }
        self.table.deadlines.set(id, now + ENDING);
        self.end(id);
    }

    /// Ends both halves: one that is finishing goes on until all bytes are written, any other is reset.
    fn end(&mut self, id: BindingId) {
        for side in [Side::Fixed, Side::Mobile] {
            let id = half(id, side);
            match self.half(id) {
                Some(Half::Socket(Sending::Finished)) => {
                    self.take_half(id);
                    self.ask_socket(id, SocketRequest::Release);
                }
                Some(Half::Stream(_, Sending::Finished)) => self.take_half(id),
                Some(Half::Socket(Sending::Finishing)) | None => {}
                Some(_) => self.reset_half(id),
            }
        }
        let connection = self.table.connections.get(&id);
        if connection.is_some_and(Connection::is_over) {
            self.forget(id);
        }
    }

    /// Removes a half without a message to the other side.
    pub(super) fn take_half(&mut self, id: SocketId) {
        if let Some(connection) = self.table.connections.get_mut(&id.binding) {
            *connection.half(id.side) = None;
        }
    }
}
