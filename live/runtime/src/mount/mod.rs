//! Files at a server as a part of this host's tree: `/dev/fuse` and a core ([`mount::FileSystem`]), served by the
//! thread of a [`Connection`]. [`control`] is the socket on which the process of a mount is asked.
//!
//! [`Connection`]: crate::files::Connection

pub mod control;
mod driver;

pub(crate) use driver::Served;
pub use driver::{Ended, Mount, Mounted};
