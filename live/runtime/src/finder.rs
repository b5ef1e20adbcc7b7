//! Finds out where a peer is now, in a thread of its own: a resolver of names may take long.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use edges::wait::Bell;
use wire::address::HopAddress;

/// Places that one search brings, at most.
const PLACES: usize = 4;

/// Finds places of a peer.
pub struct Finder {
    ask: SyncSender<usize>,
    found: Receiver<(usize, HopAddress)>,
    bell: Bell,
}

impl Finder {
    /// A thread that searches by `find`, which may block; it ends with the finder.
    ///
    /// # Errors
    /// If there can be no thread or no descriptor.
    pub fn start(find: impl Fn() -> Vec<HopAddress> + Send + 'static) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (tell, found) = sync_channel(PLACES);
        let bell = Bell::new()?;
        let ringer = bell.clone();
        let search = move || {
            while let Ok(peer) = asked.recv() {
                for place in find().into_iter().take(PLACES) {
                    // Whoever asks takes what was found, so there is room, or nobody is there any more.
                    if tell.send((peer, place)).is_err() {
                        return;
                    }
                    let _ = ringer.ring();
                }
            }
        };
        thread::Builder::new().name("finder".into()).spawn(search)?;
        Ok(Self { ask, found, bell })
    }

    /// Searches for a peer, unless it does already.
    pub(crate) fn seek(&self, peer: usize) {
        let _ = self.ask.try_send(peer);
    }

    /// The next place that was found.
    pub(crate) fn poll_found(&self) -> Option<(usize, HopAddress)> {
        self.found.try_recv().ok()
    }

    /// Takes note that it rang.
    pub(crate) fn hear(&self) -> io::Result<()> {
        self.bell.hear().map(drop)
    }
}

impl AsFd for Finder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
