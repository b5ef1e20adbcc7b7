//! `lasthop nfs` against a server of files on real sockets, as it should be and with what goes wrong.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod connection;
mod copy;
mod faults;
mod interruption;
mod look;
mod moving;
mod refusal;
mod rig;

#[path = "../common/file_server.rs"]
mod file_server;
