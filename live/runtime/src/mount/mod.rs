//! Files at a server as a part of this host's tree: the kernel's requests ([`edges::fuse`]) become operations of a
//! client of files, and its replies the kernel's answers.
//!
//! Nothing waits here: a request is taken, asked for, and answered from whatever thread has the reply. What the
//! kernel remembers of names and attributes it forgets after a moment ([`Memory`]): the client of files remembers them
//! by rules of its own, and whoever opens a file sees what others have closed.
//!
//! A signal ends a request that waits, with `EINTR`, if it is meant to end something ([`wants_to_end`]). What was
//! written stays to be written.
//!
//! [`wants_to_end`]: edges::fuse::wants_to_end

mod attributes;
mod calls;
pub mod control;
mod credentials;
mod directories;
mod errno;
mod file_system;
mod interrupts;
mod names;
mod nodes;
mod open_files;
mod service;
#[cfg(test)]
mod tests;

pub use errno::errno_of;
pub use file_system::{FileSystem, Memory, Settings, Waiting};
pub use service::FileService;
