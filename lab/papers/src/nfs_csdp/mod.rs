//! Where the papers meet: clients of NFS (Dube, Rais and Tripathi) on one air that a base station shares by the state
//! of each channel (Bhagwat et al.), from one client to so many that they congest it.
//!
//! Mobile hosts with fades of their own copy files from or to a server, across a wire, a base station and a CSMA/CA
//! air. What is varied is their number, whose frame the base station sends next, and when clients send calls again.
//! Neither paper has such numbers: all of it is ours. docs/papers/nfs-csdp.md says what was assumed and what was found.
//!
//! # How to read it
//! 1. `parameters.rs`: a plan's parameters; its schemes are [`scheduler::Config`]; `plans/`: the default plans.
//! 2. `network.rs`: the nodes of a case. The hosts are those of `nfs`, the air with base station and
//!    drivers is that of [`csdp96`](crate::csdp96).
//! 3. `run.rs`: a run and what is measured; `tables.rs`: the experiments; `claims.rs` with `onset.rs`: what they show.

mod claims;
mod network;
mod onset;
mod parameters;
mod run;
mod tables;

use experiment::Experiment;

/// The experiments of the group `nfs-csdp`.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &tables::READ,
    &tables::WRITE,
    &tables::ONSET,
    &tables::CHOICES,
];

#[cfg(test)]
mod tests;
