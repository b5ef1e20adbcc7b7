//! The applications of both hosts: they write all their data, read at once, and close.

use tcp::{Input, Output};

use super::interface::Event;

/// An application; lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Application {
    /// Bytes that it writes.
    writes: u64,
    /// Bytes that it still has to read.
    missing: u64,
}

impl Application {
    /// Creates an application that writes and reads this many bytes.
    pub(crate) fn new(writes: u64, reads: u64) -> Self {
        Self {
            writes,
            missing: reads,
        }
    }

    /// Writes its data and then closes its direction; only the first call does.
    pub(crate) fn write(&mut self, mut tell: impl FnMut(Input)) {
        let count = std::mem::take(&mut self.writes);
        if count > 0 {
            tell(Input::Write(count));
            tell(Input::Close);
        }
    }

    /// Takes an output of its end of the connection, except segments, and passes its requests to `tell`.
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
