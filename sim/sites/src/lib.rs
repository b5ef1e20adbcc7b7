//! A site in virtual time: a mobile host that moves between gateways, each on a hop of its own, and its traffic. All of
//! them are [`hosts::Host`]s.
//!
//! 1. `setting.rs`: the hosts; `roaming.rs`: the ways between them.
//! 2. `flows.rs`: what crosses the site; `traffic.rs`: flows whose content is checked; `ends.rs`: a connection of TCP.
//! 3. `splitting.rs`: a connection that the hosts split.
//! 4. `build.rs`: configurations of hosts.

pub mod build;
pub mod ends;
mod flows;
pub mod roaming;
mod setting;
pub mod splitting;
pub mod traffic;

/// Number of the mobile host.
pub const MOBILE: usize = 0;
/// Number of its gateway, or of its home.
pub const GATEWAY: usize = 1;
/// Unix time at the start, in nanoseconds.
pub const WALL: u64 = 1_800_000_000_000_000_000;
