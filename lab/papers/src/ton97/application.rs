//! What the applications of both hosts do: they write all that they have, read at once, and close.

use tcp::{Input, Output};

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
    pub(crate) fn write(&mut self, mut tell: impl FnMut(Input)) {
        let count = std::mem::take(&mut self.writes);
        if count > 0 {
            tell(Input::Write(count));
            tell(Input::Close);
        }
    }

    /// Takes what its end of the connection has to say, and tells it what to do; segments are not for it.
    pub(crate) fn take(&mut self, output: &Output, mut tell: impl FnMut(Input)) -> Option<Event> {
        match *output {
            Output::Connected => self.write(tell),
            Output::Readable(count) => {
                tell(Input::Read(count));
                let before = self.missing;
                self.missing = before.saturating_sub(count);
                return (before > 0 && self.missing == 0).then_some(Event::Done);
            }
            Output::Finished => tell(Input::Close),
            Output::Reset => return Some(Event::Broken),
            Output::Segment(_) | Output::Writable(_) => {}
        }
        None
    }
}
