//! The system interface: devices, sockets, signals and waiting, as narrow traits with in-memory twins.
//!
//! Only `live/runtime` reads the clock and drives these. It is the one crate in which `unsafe` is allowed; every such
//! block explains why it is sound.

pub mod bearer;
pub mod clock;
pub mod connected;
pub mod connections;
mod datagrams;
pub mod detour;
pub mod diversion;
mod error_queue;
pub mod ethernet;
pub mod forwarding;
pub mod fuse;
pub mod hold;
pub mod lease;
pub mod memory;
pub mod names;
pub mod nameserver;
pub mod namespace;
pub mod nat;
pub mod neighbours;
pub mod netlink;
mod networks;
pub mod nft;
pub mod parcel;
pub mod process;
pub mod repair;
pub mod resolver;
pub mod sandbox;
pub mod signals;
mod socket;
mod stamps;
pub mod sysctl;
pub mod tls;
pub mod transparent;
pub mod tun;
pub mod udp;
pub mod undo;
pub mod wait;
