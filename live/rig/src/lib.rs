//! A rig: hosts as network namespaces, the links between them, and the processes in them.
//!
//! The demo, the live tests, the benches and the soaks are built from it. Everything is gone when its handle is
//! dropped.

pub mod daemons;
pub mod needs;

mod air;
mod cell;
mod failure;
mod ganesha;
mod hosts;
mod process;

pub use air::{Air, Link};
pub use cell::Cell;
pub use edges::namespace::Namespace;
pub use failure::Failure;
pub use ganesha::{Directories, Ganesha};
pub use hosts::{End, hosts, join, make_device, on, route, set, set_up};
pub use process::{Process, Usage, wait};
