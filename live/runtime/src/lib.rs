//! The runtime, which drives a host machine in real time, between its devices. Only it reads the clock.
//!
//! One [`EventLoop`] is one thread for one medium: it waits for packets, datagrams, deadlines, signals and queries,
//! passes them to the machine one at a time, and carries out the machine's outputs, in order. So packets of one flow
//! are never reordered here.

pub mod capture;
mod changes;
pub mod control;
pub mod files;
pub mod helper;
pub mod mount;
pub mod privileges;
pub mod replay;
pub mod resolver;
pub mod signals;
pub mod sockets;
pub mod succession;
pub mod supervisor;

mod event_loop;
mod finder;
mod host;
mod load;
mod lock;
mod moderation;
mod outbox;
mod ports;
mod reloader;
mod results;
mod socket_file;

use lock::lock;

pub use changes::{Change, Changed, Changes, Exit, Way};
pub use event_loop::{
    BearerStatus, DeviceStatus, EventLoop, LoopCounters, MEMORY_BESIDE, RuntimeError, Status,
    Stopped, Summary,
};
pub use finder::{Errand, Finder};
pub use host::{DrivenHost, run_daemon};
pub use outbox::Outbox;
pub use ports::Ports;
pub use reloader::{Ended, KeyClaim, Reloaded, Reloader};
