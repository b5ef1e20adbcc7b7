//! `lasthop nfs` against a server of files on real sockets, as it should be and with what goes wrong.

mod connection;
mod copy;
mod faults;
mod interruption;
mod look;
mod moving;
mod refusal;
mod rig;
