//! Ctrl-C and similar signals, for commands that end as soon as they can leave everything in order.

use std::sync::atomic::{AtomicBool, Ordering};

use edges::signals::Signals;
use edges::wait::{Interest, Waiter};

use crate::failure::Failure;

static IS_SET: AtomicBool = AtomicBool::new(false);

/// Calls `asked`, in a thread of its own, for each signal that requests the end; its argument is false for the first
/// signal, and true for further ones.
pub(crate) fn watch(mut asked: impl FnMut(bool) + Send + 'static) -> Result<(), Failure> {
    let failed = |error| Failure::broken(format!("cannot catch signals: {error}"));
    let mut signals = Signals::catch().map_err(failed)?;
    let mut waiter = Waiter::new().map_err(failed)?;
    waiter
        .add(&signals, 0, Interest::Readable)
        .map_err(failed)?;
    let watch = move || {
        while waiter.wait(None).is_ok() {
            for _ in signals.pending().filter(|signal| signal.ends()) {
                asked(IS_SET.swap(true, Ordering::Relaxed));
            }
        }
    };
    let builder = std::thread::Builder::new().name("signals".into());
    builder.spawn(watch).map(drop).map_err(failed)
}

/// Returns true if the end was requested.
pub(crate) fn is_set() -> bool {
    IS_SET.load(Ordering::Relaxed)
}
