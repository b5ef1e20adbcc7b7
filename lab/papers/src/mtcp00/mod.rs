//! Haas and Warkhedi, "The Design and Performance of Mobile TCP for Wireless Networks", 2000.
//!
//! A fixed host sends 14.6 MB to a mobile host across a wire, a base station and a lossy hop: by TCP end to end, by TCP
//! that is split at the base station (I-TCP), or by MTCP on the hop. docs/papers/mtcp00.md describes the model, its
//! calibration and its results.
//!
//! # How to read it
//! 1. `plans/`: the default plans; parameters, schemes, nodes and links are those of [`ton97`](crate::ton97).
//! 2. `run.rs`: a run and its metrics; `watch.rs`: its observer.
//! 3. `tables.rs`: the experiments; `trace.rs`: those over time; `claims.rs`: the statements of the paper.

mod claims;
mod run;
mod tables;
mod trace;
mod watch;

use experiment::Experiment;

/// The experiments of the group `mtcp00`, in the paper's order; then those beyond the paper.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &tables::PEAK,
    &tables::FIGURE_10A,
    &tables::FIGURE_10B,
    &trace::FIGURE_11,
    &tables::FIGURE_12A,
    &tables::FIGURE_12B,
    &tables::OUTAGES,
    &tables::FIGURE_13,
    &tables::FIGURE_14,
    &tables::TABLE_3,
    &tables::ABLATION,
    &tables::WIRED,
    &tables::LEAN,
    &tables::BUFFER,
    &tables::WIDE,
    &tables::HAND_OFF,
];
