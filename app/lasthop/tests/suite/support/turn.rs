//! Whose turn it is to load the machine: tests of one module run beside each other, those of two modules never do,
//! since some of them judge times and shares.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// The module whose tests are at work, and how many turns they hold.
static AT_WORK: Mutex<(String, usize)> = Mutex::new((String::new(), 0));
static CHANGED: Condvar = Condvar::new();

/// Held while a test is at work; a test may hold several.
pub(crate) struct Turn(());

impl Turn {
    /// Waits until no test of another module is at work.
    pub(crate) fn take() -> Self {
        let thread = thread::current();
        // The harness gives a thread the name of its test, with all modules; or runs everything in the main thread.
        let name = thread.name().expect("the thread of a test");
        let module = name.split("::").next().unwrap_or(name);
        let at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        let others = |(other, turns): &mut (String, usize)| *turns > 0 && other != module;
        let waited = CHANGED.wait_while(at_work, others);
        let mut at_work = waited.unwrap_or_else(PoisonError::into_inner);
        *at_work = (module.to_owned(), at_work.1 + 1);
        Self(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        at_work.1 -= 1;
        if at_work.1 == 0 {
            CHANGED.notify_all();
        }
    }
}
