//! What a host has to find out about its surroundings, in a thread of its own: name resolution may take long.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use hosts::Input;

use crate::results::Results;

/// Number of errands that wait for the thread.
const ERRANDS: usize = 2;

/// What a finder is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// The peer with this number does not answer: where may it be, and why?
    Seek(usize),
    /// The host has started, or its network has changed.
    Look,
}

/// A thread that finds out where a peer may be, and what may keep this host from it.
pub struct Finder {
    ask: SyncSender<Errand>,
    pub(crate) found: Results,
}

impl Finder {
    /// Starts a thread that does errands with `find`, which may block; it ends with the finder. The results go to the
    /// host as `find` passes each to its second argument.
    ///
    /// # Errors
    /// If no thread or descriptor is available.
    pub fn start(
        mut find: impl FnMut(Errand, &mut dyn FnMut(Input)) + Send + 'static,
    ) -> io::Result<Self> {
        let (ask, asked) = sync_channel(ERRANDS);
        let (reporter, found) = Results::new()?;
        let search = move || {
            while let Ok(errand) = asked.recv() {
                find(errand, &mut |input| reporter.report(input));
            }
        };
        thread::Builder::new().name("finder".into()).spawn(search)?;
        Ok(Self { ask, found })
    }

    /// Gives the thread an errand, unless it has enough of them.
    pub(crate) fn send(&self, errand: Errand) {
        let _ = self.ask.try_send(errand);
    }
}
