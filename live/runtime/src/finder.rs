//! What a host has to find out about its surroundings, in a thread of its own: name resolution may take long.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use edges::wait::Notifier;
use hosts::Input;

/// Number of results that wait for the loop.
const RESULTS: usize = 16;
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
    found: Receiver<Input>,
    bell: Notifier,
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
        let (tell, found) = sync_channel(RESULTS);
        let bell = Notifier::new()?;
        let ringer = bell.clone();
        let search = move || {
            while let Ok(errand) = asked.recv() {
                find(errand, &mut |input| {
                    // If the requester is gone, it asks for nothing more.
                    let _ = tell.send(input);
                    let _ = ringer.ring();
                });
            }
        };
        thread::Builder::new().name("finder".into()).spawn(search)?;
        Ok(Self { ask, found, bell })
    }

    /// Gives the thread an errand, unless it has enough of them.
    pub(crate) fn send(&self, errand: Errand) {
        let _ = self.ask.try_send(errand);
    }

    /// Returns the next result.
    pub(crate) fn poll_found(&self) -> Option<Input> {
        self.found.try_recv().ok()
    }

    /// Resets the notification.
    pub(crate) fn hear(&self) -> io::Result<()> {
        self.bell.hear().map(drop)
    }
}

impl AsFd for Finder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
