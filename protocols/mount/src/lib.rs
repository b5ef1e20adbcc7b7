//! Files of a server as a file system of the kernel: a core between the kernel's requests and a file client.
//!
//! [`FileSystem`] is the machine. A [`Request`] of the kernel becomes operations of [`files`]; their replies become
//! the kernel's [`Answer`]. Several requests may wait at the same time; inputs and outputs are values ([`Input`],
//! [`Output`]), so a run can be recorded and replayed ([`Tape`]).
//!
//! The kernel caches names and attributes for a short time only ([`Memory`]). A program that opens a file sees the
//! data that others have written and closed (close-to-open). A signal that shall end a process ends its request with
//! `EINTR`; written data are still sent to the server.

mod answer;
mod attributes;
mod call;
mod calls;
mod credentials;
mod directories;
mod errno;
mod events;
mod file_system;
mod list;
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
