//! How bytes get from one stream to the other.

use std::io;

use edges::wait::Ready;
use machine::Machine;
use redirector::{BindingId, Chunks, Content, Input, Output, Stream as StreamId};
use units::Instant;

use super::super::joint::Stage;
use super::super::stream::{Look, Stream};
use super::{ENDING, Worker};

impl Worker {
    /// A socket can be read or written, or has failed.
    pub(super) fn stream_changed(&mut self, now: Instant, id: StreamId, ready: Ready) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        let is_asking = matches!(joint.stage, Stage::Asking(_));
        let Some(Stream::Kernel(stream)) = joint.stream(id.side) else {
            return;
        };
        stream.ended |= ready.ended;
        if is_asking {
            match stream.socket().take_error() {
                Err(error) => return self.refuse(id, &error),
                Ok(()) if ready.writable => self.let_in(now, id.binding),
                Ok(()) => return,
            }
        }
        if ready.readable || ready.ended {
            self.look(id);
        }
        if ready.writable {
            self.write(id, Stream::flush);
        }
    }

    /// Tells the redirector what can be read.
    pub(super) fn look(&mut self, id: StreamId) {
        let Some(looked) = self.with(id, |stream| stream.look()) else {
            return;
        };
        let readable = |available| Input::Readable {
            stream: id,
            available,
        };
        match looked {
            Ok(Look::Bytes(available)) => self.news.push_back(readable(available)),
            Ok(Look::Nothing) => self.news.push_back(readable(0)),
            Ok(Look::End) => self.news.extend([readable(0), Input::Finished(id)]),
            Err(_) => self.broken(id),
        }
    }

    /// Has `act` write to a stream; then there is room, or it is broken.
    fn write(&mut self, id: StreamId, act: impl FnOnce(&mut Stream) -> io::Result<()>) {
        match self.with(id, act) {
            Some(Ok(())) => self.written(id),
            Some(Err(_)) => self.broken(id),
            None => {}
        }
    }

    /// Says that there is room again, or that all is done.
    pub(super) fn written(&mut self, id: StreamId) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        if matches!(joint.stage, Stage::Ending) {
            if joint.end() {
                self.forget(id.binding);
            }
        } else if let Some(stream) = joint.stream(id.side)
            && stream.room() > 0
        {
            let room = stream.room();
            self.news.push_back(Input::Writable { stream: id, room });
        }
    }

    /// A stream has failed.
    pub(super) fn broken(&mut self, id: StreamId) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        *joint.stream(id.side) = None;
        if !matches!(joint.stage, Stage::Ending) {
            self.news.push_back(Input::Reset(id));
        } else if joint.end() {
            self.forget(id.binding);
        }
    }

    /// Does what the redirector asks for and tells it what came of it, until both are at rest.
    pub(super) fn settle(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.redirector.poll_output() {
                self.carry_out(now, output);
            }
            match self.news.pop_front() {
                Some(input) => self.redirector.handle_input(now, input),
                None => return,
            }
        }
    }

    fn carry_out(&mut self, now: Instant, output: Output<Chunks>) {
        match output {
            Output::Connect {
                stream,
                destination,
            } => self.connect(stream, destination),
            Output::Read { stream, count } => self.read(stream, count),
            Output::Write { stream, content } => {
                self.write(stream, |stream| stream.write(content));
            }
            Output::Finish(stream) => self.finish(stream),
            Output::Reset(id) => {
                if let Some(joint) = self.joints.get_mut(&id.binding) {
                    *joint.stream(id.side) = None;
                }
            }
            Output::Closed(id) => self.close(now, id),
        }
    }

    pub(super) fn finish(&mut self, id: StreamId) {
        match self.with(id, Stream::finish) {
            Some(Ok(())) => {}
            Some(Err(_)) => self.broken(id),
            None => {
                if let Some(joint) = self.joints.get_mut(&id.binding) {
                    joint.finished_early = true;
                }
            }
        }
    }

    fn read(&mut self, id: StreamId, count: u64) {
        let read = |stream: &mut Stream| (stream.read(count), stream.has_ended());
        let Some((read, ended)) = self.with(id, read) else {
            return;
        };
        let Ok(content) = read else {
            return self.broken(id);
        };
        let is_empty = content.length() == 0;
        // First, lest it is asked for again what is not there.
        if is_empty {
            self.look(id);
        }
        self.news.push_back(Input::Data {
            stream: id,
            content,
        });
        if ended && !is_empty {
            self.look(id);
        }
    }

    /// A binding is gone: what it has written goes out still.
    fn close(&mut self, now: Instant, id: BindingId) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        if self.by_ends.get(&joint.ends) == Some(&id) {
            self.by_ends.remove(&joint.ends);
        }
        if joint.end() {
            self.forget(id);
        } else {
            self.set_deadline(id, Some(now + ENDING));
        }
    }
}
