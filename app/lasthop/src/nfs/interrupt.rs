//! Ctrl-C: the command ends as soon as it can leave things in order; the second time, at once.

use std::sync::atomic::{AtomicBool, Ordering};

use edges::signals::{Signal, Signals};
use edges::wait::{Interest, Waiter};

use crate::failure::Failure;

/// Of a program that Ctrl-C ended.
const CODE: i32 = 130;

static IS_SET: AtomicBool = AtomicBool::new(false);

/// Watches for signals that ask for the end, from now on.
pub(super) fn catch() -> Result<(), Failure> {
    let failed = |error| Failure::broken(format!("cannot catch signals: {error}"));
    let mut signals = Signals::catch().map_err(failed)?;
    let mut waiter = Waiter::new().map_err(failed)?;
    waiter
        .add(&signals, 0, Interest::Readable)
        .map_err(failed)?;
    let watch = move || {
        while waiter.wait(None).is_ok() {
            for _ in signals.pending().filter(|signal| *signal != Signal::User1) {
                if IS_SET.swap(true, Ordering::Relaxed) {
                    std::process::exit(CODE);
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch)
        .map_err(failed)?;
    Ok(())
}

/// Whether the end was asked for.
pub(super) fn is_set() -> bool {
    IS_SET.load(Ordering::Relaxed)
}
