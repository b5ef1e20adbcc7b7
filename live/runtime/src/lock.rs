//! Locks without a verdict on panics.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what no panic can leave half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
