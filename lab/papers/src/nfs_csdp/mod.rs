//! The papers combined: NFS clients (Dube, Rais and Tripathi) on one air that a base station shares by the state of
//! each channel (Bhagwat et al.), from one client up to congestion.
//!
//! Mobile hosts with fades of their own copy files from or to a server, across a wire, a base station and a CSMA/CA
//! air. The plans vary their number, the scheduling policy of the base station, and the retransmission policy of the
//! clients. Neither paper has such numbers: all of it is ours. docs/papers/nfs-csdp.md states the assumptions and the
//! findings.
//!
//! # How to read it
//! 1. `parameters.rs`: a plan's parameters; its schemes are [`scheduler::Config`]; `plans/`: the default plans.
//! 2. `network.rs`: the nodes of a case. The hosts are those of `nfs`, the air with base station and
//!    drivers is that of [`csdp96`](crate::csdp96).
//! 3. `run.rs`: a run and its metrics; `tables.rs`: the experiments; `claims.rs` with `onset.rs`: the findings.

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
