//! Files at a server as part of this host's file tree: `/dev/fuse` and a core ([`mount::FileSystem`]), served by the
//! thread of a [`Connection`]. [`control`] is the control socket of a mount's process.
//!
//! [`Connection`]: crate::files::Connection

pub mod control;
mod driver;

pub(crate) use driver::MountDriver;
pub use driver::{Ended, Mount, Mounted};
