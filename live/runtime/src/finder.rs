//! Search for the address of a peer, in a thread of its own: name resolution may take long.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use edges::wait::Notifier;
use wire::address::HopAddress;

/// Largest number of addresses from one search.
const PLACES: usize = 4;

/// A thread that searches for addresses of a peer.
pub struct Finder {
    ask: SyncSender<usize>,
    found: Receiver<(usize, HopAddress)>,
    bell: Notifier,
}

impl Finder {
    /// Starts a thread that searches with `find`, which may block; it ends with the finder.
    ///
    /// # Errors
    /// If no thread or descriptor is available.
    pub fn start(find: impl Fn() -> Vec<HopAddress> + Send + 'static) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (tell, found) = sync_channel(PLACES);
        let bell = Notifier::new()?;
        let ringer = bell.clone();
        let search = move || {
            while let Ok(peer) = asked.recv() {
                for place in find().into_iter().take(PLACES) {
                    // The requester takes the results, so there is room, unless it is gone.
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

    /// Starts a search for a peer, unless one is running.
    pub(crate) fn seek(&self, peer: usize) {
        let _ = self.ask.try_send(peer);
    }

    /// Returns the next address that was found.
    pub(crate) fn poll_found(&self) -> Option<(usize, HopAddress)> {
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
