//! Files that the kernel asks a process for (FUSE, `Documentation/filesystems/fuse`): what it asks, what it is
//! told, and how a file system is mounted and unmounted.
//!
//! A [`Request`] is plain data, and may be [answered](Kernel::answer) at any time, in any order and from
//! any thread. A request whose process wants to go on without an answer is followed by an
//! [`Operation::Interrupt`]. Nothing is cached for writing by the kernel (no `FUSE_WRITEBACK_CACHE`), so
//! that `write` tells the truth; locks are kept by the kernel, and hold on this host only.
//!
//! A file is named by a [`Node`], which its number (`st_ino`) has nothing to do with.

mod answer;
mod caller;
mod device;
mod mount;
mod request;
#[cfg(test)]
mod tests;

pub use answer::{
    Answer, Attributes, Entry, Found, KindAndMode, Listing, Opened, Space, Timestamp,
};
pub use caller::{groups_of, wants_to_end};
pub use device::{Device, Limits};
pub use mount::{MountError, MountOptions, Mounted, SUBTYPE, abort, mount, mounted, unmount};
pub use request::{
    Caller, Changes, Handle, NewTime, Node, OpenFlags, Operation, Request, RequestId,
};

use std::io;

/// The kernel, as whoever keeps the files sees it.
pub trait Kernel: Send + Sync {
    /// Waits for the next request; none after the file system was unmounted or given up. One thread at a time.
    ///
    /// # Errors
    /// If the kernel cannot be heard any more.
    fn next_request(&self) -> io::Result<Option<Request>>;

    /// Answers a request; false if the kernel does not wait for it any more, so that whatever the answer
    /// handed over (a reference to a node, an open file) is not the kernel's.
    fn answer(&self, request: RequestId, answer: &Answer) -> bool;

    /// Makes the kernel ask for a file's attributes before it uses them again. What it remembers of the content stays,
    /// or goes when they differ: to have it go from here could wait for a request that waits for us.
    fn forget_attributes(&self, node: Node);
}
