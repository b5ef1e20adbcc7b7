//! What the applications of both hosts do: they write all that they have, read at once, and close.

use machine::Machine;
use tcp::{Endpoint, Input, Output};
use units::Instant;

use super::node::Event;

/// An application; lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Application {
    /// What it writes.
    writes: u64,
    /// What is still to come.
    missing: u64,
}

impl Application {
    /// Writes and reads so many bytes.
    pub(crate) fn new(writes: u64, reads: u64) -> Self {
        Self {
            writes,
            missing: reads,
        }
    }

    /// Writes what it has, and says that no more will come; once.
    pub(crate) fn write(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let count = std::mem::take(&mut self.writes);
        if count > 0 {
            endpoint.handle_input(now, Input::Write(count));
            endpoint.handle_input(now, Input::Close);
        }
    }

    /// Takes what its end of TCP has to say; segments are not for it.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        output: &Output,
    ) -> Option<Event> {
        match *output {
            Output::Connected => self.write(now, endpoint),
            Output::Readable(count) => {
                endpoint.handle_input(now, Input::Read(count));
                let before = self.missing;
                self.missing = before.saturating_sub(count);
                return (before > 0 && self.missing == 0).then_some(Event::Done);
            }
            Output::Finished => endpoint.handle_input(now, Input::Close),
            Output::Reset => return Some(Event::Broken),
            Output::Segment(_) | Output::Writable(_) => {}
        }
        None
    }
}
