//! Bhagwat, Bhattacharya, Krishna, Tripathi, "Enhancing Throughput over Wireless LANs Using Channel State Dependent
//! Packet Scheduling", INFOCOM 1996.
//!
//! Fixed hosts send to mobile hosts across a wire, a base station and one air that all share by carrier sense, whose
//! channels fade independently; the driver of the base station decides which mobile host is served next. The paper's
//! numbers are lost: docs/papers/csdp96.md states the assumptions in their place, and which of its findings hold.
//!
//! # How to read it
//! 1. `parameters.rs`: a plan's parameters; its schemes are [`scheduler::Config`]; `plans/`: the default plans.
//! 2. `network.rs`: the nodes of a case. `fixed.rs`: the fixed hosts. `cell.rs`: the air with `station.rs` (the base
//!    station) and `mobile.rs`, whose drivers have the queues of `queue.rs`; `packet.rs`: the packets of wire and air.
//!    `interface.rs`: ports and events. `receiver.rs`: the application of a mobile host; `flow.rs`: datagrams beside
//!    the connections.
//! 3. `opportunity.rs`: the states of the channels, and the time with packets for a good one; `oracle.rs`: the accuracy
//!    with which these states are known; `receivers.rs`: the reports of mobile hosts on losses; `late.rs`: their delay;
//!    `watch.rs`: the fades that the monitor detects; `transmit_buffer.rs`: the cost of putting a frame back.
//! 4. `run.rs`: a run and its metrics; `trace.rs`: one connection over time; `delay.rs`: the delay of others;
//!    `crowd.rs`: the cost of fades for many; `tables.rs`: the experiments; `claims.rs` and `claims/` with
//!    `judging.rs`: the findings.

pub(crate) mod cell;
mod claims;
mod crowd;
mod delay;
mod fixed;
mod flow;
pub(crate) mod interface;
pub(crate) mod judging;
mod late;
pub(crate) mod mobile;
mod network;
pub(crate) mod node;
pub(crate) mod opportunity;
mod oracle;
pub(crate) mod packet;
pub(crate) mod parameters;
pub(crate) mod queue;
mod receiver;
mod receivers;
pub(crate) mod run;
pub(crate) mod station;
mod tables;
mod trace;
mod transmit_buffer;
mod watch;

use experiment::Experiment;

/// The experiments of the group `csdp96`: the paper's figures and its statements in words, then those beyond the paper.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &tables::FINISH,
    &tables::CONNECTIONS,
    &tables::TRACE,
    &tables::BURST,
    &tables::RANDOM,
    &tables::SWEEP,
    &tables::MONITOR,
    &tables::ACCURACY,
    &tables::ACCURACY_PERIODS,
    &tables::COLLISIONS,
    &tables::ISOLATION,
    &tables::DELAY,
    &tables::REQUEUE,
    &tables::CROWD,
];

#[cfg(test)]
mod knowing_tests;
#[cfg(test)]
mod tests;
