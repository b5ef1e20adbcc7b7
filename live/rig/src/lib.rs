//! A rig: hosts as network namespaces, the links between them, and the processes in them.
//!
//! The demo, the live tests, the benches and the soaks are built from it. Everything is gone when its handle is
//! dropped.

pub mod daemons;
pub mod needs;
pub mod site;

mod air;
mod attack;
mod cell;
mod crowd;
mod etcd;
mod failure;
mod flood;
mod ganesha;
mod hosts;
mod newcomer;
mod process;
mod raw_mobile;

pub use self::hosts::{End, hosts, join, make_device, on, route, set, set_up};
pub use air::{Air, Link};
pub use attack::Attack;
pub use cell::Cell;
pub use crowd::{Crowd, idle};
pub use edges::namespace::Namespace;
pub use etcd::{Account, Etcd};
pub use failure::Failure;
pub use flood::{Flood, Forgery, initiation};
pub use ganesha::{Directories, Ganesha};
pub use newcomer::{Circumstances, Newcomer, Outcome};
pub use process::{Process, Usage, run, wait};
pub use raw_mobile::{RawIdentity, RawMobile};
pub use rustix::process::Signal;
