//! Files at a server as a file system of the kernel: a core between the kernel's requests and a client of files.
//!
//! [`FileSystem`] is the machine. A [`Request`] of the kernel becomes operations of [`files`]; their replies become
//! the kernel's [`Answer`]. Requests wait beside each other; each is a value ([`Input`], [`Output`]), so a run can be
//! recorded and replayed ([`Tape`]).
//!
//! What the kernel remembers of names and attributes it forgets after a moment ([`Memory`]). A program that opens a
//! file sees what others have closed (close-to-open). A signal that is meant to end a process ends its request with
//! `EINTR`; what was written stays to be written.

mod answer;
mod attributes;
mod calls;
mod credentials;
mod directories;
mod errno;
mod events;
mod file_system;
mod names;
mod nodes;
mod open_files;
mod request;

pub use answer::{
    Answer, Attributes, ENTRY_HEAD, Entry, Found, KindAndMode, LISTED_HEAD, Listed, Listing,
    Opened, Space, Timestamp,
};
pub use errno::Errno;
pub use events::{Fault, Input, Output, Tape};
pub use file_system::{Config, FileSystem, Memory, Waiting};
pub use request::{
    Caller, Changes, Handle, NewTime, Node, OpenFlags, Operation, Request, RequestId,
};
