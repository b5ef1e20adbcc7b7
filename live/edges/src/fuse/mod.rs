//! FUSE file systems (`Documentation/filesystems/fuse`): the device, mounting and unmounting. Requests and answers are
//! the values of [`mount`](::mount).
//!
//! A request may be [answered](Device::answer) at any time, in any order and from any thread. If the process of a
//! request stops waiting, an interrupt follows ([`::mount::Operation::Interrupt`]). The kernel does not cache writes
//! (no `FUSE_WRITEBACK_CACHE`), so that the result of `write` is true; the kernel keeps locks, which hold on this host
//! only.
//!
//! A [`::mount::Node`] identifies a file; its inode number (`st_ino`) is independent of that.

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
