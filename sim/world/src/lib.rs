//! A world in virtual time: gateways, mobile hosts, applications and attackers, and every fault at once.
//!
//! The hosts are the [`hosts::Host`]s of the daemons. A [`Tape`] of bytes chooses the setting and each step: what the
//! applications do, and what breaks. So a seed, an input of a fuzzer, a shrunk failure and a test for a mended bug are
//! the same thing. Each run ends with a phase of healing, after which everything must work again.
//!
//! # Reading order
//! 1. `tape.rs` and `step.rs`: the bytes of a run, and their meaning; `seeds.rs`: tapes from seeds.
//! 2. `world.rs`: the hosts, the events between them and the loop; `acts.rs`: what each step does; `crossing.rs`: what
//!    crosses between the hosts.
//! 3. `process.rs`: a daemon, which can be killed or paused, and the system beside it; `network.rs` and `path.rs`: what
//!    lies between the hosts; `flow.rs`, `probes.rs`: the traffic of the applications; `stranger.rs`: attackers.
//! 4. `oracle.rs`: the promises that are checked; `heal.rs`: the end of a run; `trials.rs`: what is tried at its end.
//! 5. `shrink.rs`: the shortest tape that still fails.

mod acts;
mod crossing;
mod flow;
mod heal;
mod mounts;
mod mounts_acts;
mod mounts_heal;
mod network;
mod oracle;
mod path;
mod probes;
mod process;
mod seeds;
mod setting;
mod shrink;
mod step;
mod stranger;
mod tape;
mod trials;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use mounts::DiskFault;
pub use oracle::Violation;
pub use setting::Setting;
pub use shrink::shrink;
pub use step::Step;
pub use tape::{Tape, TapeError};
use units::Duration;
use world::World;

/// Result of a run that kept all promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Virtual time that passed.
    pub time: Duration,
    /// Number of calls of all machines.
    pub calls: u64,
    /// A hash over all outputs: equal for equal tapes.
    pub mark: u64,
}

/// Runs a tape.
///
/// # Errors
/// The first promise that was broken, and when; a panic counts as one.
pub fn run(tape: &Tape) -> Result<Report, Violation> {
    let run = AssertUnwindSafe(|| {
        let mut world = World::new(tape.setting());
        world.perform(tape)?;
        world.heal()?;
        Ok(world.report())
    });
    catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Violation::panic(&text.unwrap_or_default()))
    })
}
