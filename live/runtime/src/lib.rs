//! Drives a host machine in real time, between its devices. Nothing else reads the clock.
//!
//! One [`EventLoop`] is one thread and one air: it waits for packets, datagrams, deadlines, signals
//! and questions, hands them to the machine one at a time, and carries out what the machine asks
//! for, in that order. So packets of one flow are never reordered here.

pub mod control;
pub mod files;
pub mod mount;
pub mod privileges;
pub mod replay;
pub mod signals;
pub mod sockets;

mod event_loop;
mod finder;
mod host;
mod lock;
mod moderation;
mod outbox;
mod ports;
mod socket_file;

use lock::lock;

pub use event_loop::{
    BearerStatus, DeviceStatus, EventLoop, LoopCounters, MEMORY_BESIDE, RuntimeError, Status,
    Stopped,
};
pub use finder::Finder;
pub use host::Driven;
pub use outbox::Outbox;
pub use ports::Ports;
