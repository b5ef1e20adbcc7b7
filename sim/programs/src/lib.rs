//! Hosts with a mounted file system, and programs on them that check every answer against a reference.
//!
//! [`Host`] is the kernel of a host with its mount and its file client, as the daemon joins them. [`Programs`] turn
//! each [`Action`] into the requests that a kernel makes for it, one after the other, and compare each answer with the
//! [`Reference`]: the names and contents that the programs expect. They check:
//!
//! - R6, R7: what `fsync`, `close` or a rename confirmed is on the server's disk;
//! - R8: each opening of a file gets the error of a write that the server refused;
//! - R9: nothing is written to another file than the one that was opened;
//! - S12: no request fails, and no data are wrong, unless the server has a fault that explains it.

mod action;
mod check;
mod host;
mod programs;
mod reference;

pub use action::Action;
pub use host::{Host, Output};
pub use programs::{Ground, LONGEST, Programs};
pub use reference::{NAMES, Opening, Reference};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{promise} is broken: {text}")]
pub struct Broken {
    /// Promise, by its number in `docs/promises.md`.
    pub promise: &'static str,
    /// What happened.
    pub text: String,
}

impl Broken {
    pub(crate) fn new(promise: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { promise, text }
    }
}
