//! Files that the kernel asks a process for (FUSE, `Documentation/filesystems/fuse`): its device, and how a file system
//! is mounted and unmounted. Requests and answers are the values of [`mount`](::mount).
//!
//! A request may be [answered](Device::answer) at any time, in any order and from any thread. A request whose process
//! wants to go on without an answer is followed by an interrupt ([`::mount::Operation::Interrupt`]).
//! Nothing is cached for writing by the kernel (no `FUSE_WRITEBACK_CACHE`), so that `write` tells the truth; locks are
//! kept by the kernel, and hold on this host only.
//!
//! A file is named by a [`::mount::Node`], which its number (`st_ino`) has nothing to do with.

mod answer;
mod caller;
mod device;
mod mount;
mod request;
#[cfg(test)]
mod tests;

pub use caller::{groups_of, wants_to_end};
pub use device::{Device, Limits};
pub use mount::{MountError, MountOptions, Mounted, SUBTYPE, abort, mount, mounted, unmount};
