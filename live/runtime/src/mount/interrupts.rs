//! Signals to processes that wait.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use edges::fuse::{Answer, Kernel, RequestId};
use rustix::io::Errno;

/// When it is looked again whether a process that got a signal wants to end.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Has the kernel say again, a little later, that a process has got a signal. It says so only once by itself: the
/// first signal may be none that is to end something, and the next one may.
pub(super) struct Later(Sender<RequestId>);

impl Later {
    /// Starts the thread that waits; it ends with this value.
    pub(super) fn start(kernel: &Arc<dyn Kernel>) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let kernel = Arc::downgrade(kernel);
        thread::Builder::new()
            .name("interrupts".into())
            .spawn(move || repeat(&receiver, &kernel))?;
        Ok(Self(sender))
    }

    /// The interrupt `request` is to be said again.
    pub(super) fn repeat(&self, request: RequestId) {
        // The thread ends only with us, or when nothing is mounted any more.
        let _ = self.0.send(request);
    }
}

fn repeat(requests: &Receiver<RequestId>, kernel: &Weak<dyn Kernel>) {
    while let Ok(first) = requests.recv() {
        thread::sleep(LOOK_AGAIN);
        let Some(kernel) = kernel.upgrade() else {
            return;
        };
        for request in std::iter::once(first).chain(requests.try_iter()) {
            kernel.answer(request, &Answer::Error(Errno::AGAIN));
        }
    }
}
