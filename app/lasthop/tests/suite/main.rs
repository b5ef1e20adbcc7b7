//! The program as a user runs it, and the daemons between real network namespaces.
//!
//! What uses namespaces needs root (or a user namespace of one's own), `/dev/net/tun` and `nft`; mounts need
//! `/dev/fuse`, and some tests nfs-ganesha. A test for which something is missing says so and is skipped, but under
//! CI=true it fails.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod abuse;
mod attacks;
mod capture;
mod command_line;
mod contained;
mod daemons;
mod demo;
mod dns;
mod doctor;
mod ecn;
mod emulator;
mod ethernet;
mod file_server;
mod follow;
mod guide;
mod host_network;
mod hostile_split;
mod join;
mod lab;
mod machines;
mod mount;
mod newcomer;
mod nfs_command;
mod nfs_ganesha;
mod no_leak;
mod path_mtu;
mod registry;
mod reload;
mod restarts;
mod rotate;
mod routing;
mod secrets;
mod shared_air;
mod signals;
mod site;
mod site_lines;
mod split;
mod state;
mod succession;
mod support;
mod survives;
mod tcp_methods;
mod tls;
mod web;
