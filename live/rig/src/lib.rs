//! A rig: hosts as network namespaces, the links between them, and the processes in them.
//!
//! The demo and the live tests use it. Everything is removed when its handle is dropped.

pub mod daemons;

mod air;
mod failure;
mod hosts;
mod process;

pub use air::{Air, Link};
pub use edges::namespace::Namespace;
pub use failure::Failure;
pub use hosts::{End, join, make_device, on, route, set};
pub use process::{Process, Usage};
