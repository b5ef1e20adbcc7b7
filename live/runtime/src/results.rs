//! Results of a thread for the host, which wake the loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use edges::wait::Notifier;
use hosts::Input;

/// Number of results that wait for the loop; a thread with more waits itself.
const RESULTS: usize = 16;

/// The thread's end.
pub(crate) struct Reporter {
    tell: SyncSender<Input>,
    bell: Notifier,
}

impl Reporter {
    /// Reports a result. If the loop is gone, it is lost.
    pub(crate) fn report(&self, input: Input) {
        let _ = self.tell.send(input);
        let _ = self.bell.ring();
    }
}

/// The loop's end.
pub(crate) struct Results {
    inputs: Receiver<Input>,
    bell: Notifier,
}

impl Results {
    /// Returns both ends.
    ///
    /// # Errors
    /// If no descriptor is available.
    pub(crate) fn new() -> io::Result<(Reporter, Self)> {
        let (tell, inputs) = sync_channel(RESULTS);
        let bell = Notifier::new()?;
        let reporter = Reporter {
            tell,
            bell: bell.clone(),
        };
        Ok((reporter, Self { inputs, bell }))
    }

    /// Resets the notification, and returns all results that are there.
    pub(crate) fn take(&self) -> io::Result<impl Iterator<Item = Input> + '_> {
        self.bell.hear()?;
        Ok(self.inputs.try_iter())
    }
}

impl AsFd for Results {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
