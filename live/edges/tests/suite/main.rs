//! The edges against the real kernel, and their twins in memory.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod clock;
mod ethernet;
mod fuse;
mod neighbours;
mod parcel;
mod repair;
mod support;
mod system;
mod tun;
mod tunnel;
mod udp;
mod undo;
mod waiting;
