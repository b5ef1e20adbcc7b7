//! Balakrishnan, Padmanabhan, Seshan, Katz, "A Comparison of Mechanisms for Improving TCP Performance over
//! Wireless Links", IEEE/ACM Transactions on Networking 5(6), 1997.
//!
//! A fixed host sends 8 MB to a mobile host across a wired network, a base station and a lossy hop, under twelve
//! schemes and four more. docs/papers/ton97.md describes the model, its calibration and its deviations from the paper.
//!
//! # How to read it
//! 1. `parameters.rs`: a plan's parameters and schemes; `plans/`: the default plans.
//! 2. `network.rs`: the nodes and links of a case; `source.rs`, `base.rs` (with `split.rs` and `repair.rs`),
//!    `mobile.rs`: the nodes, which only join machines and `application.rs`; `end.rs`: the transport of a connection
//!    across the hop; `packet.rs`: the packets of the links; `interface.rs`: addresses, ports and events.
//! 3. `transfer.rs`: a run and its metrics.
//! 4. `tables.rs`: the experiments that are transfers, with the claims of `claims.rs`; `traces.rs`: runs over time;
//!    `congestion.rs`: a rival (`rival.rs`), and the sender's reaction to losses (`losses.rs`).
//! 5. `two_hops.rs`: two hops between radios (`radio.rs`) that judge missing packets (`judge.rs`).
//! 6. `upload.rs`: transfers from the mobile host.

mod about;
mod application;
pub(crate) mod base;
mod claims;
mod congestion;
mod driver;
pub(crate) mod end;
pub(crate) mod interface;
mod judge;
mod losses;
pub(crate) mod mobile;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod packet;
pub(crate) mod parameters;
pub(crate) mod radio;
mod repair;
mod rival;
pub(crate) mod source;
pub(crate) mod split;
pub(crate) mod tables;
mod traces;
pub(crate) mod transfer;
mod two_hops;
mod upload;

use experiment::Experiment;

/// The experiments of the group `ton97`, in the paper's order; then those beyond it.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &tables::PEAK,
    &tables::TABLE_2,
    &traces::FIGURE_4,
    &traces::FIGURE_5,
    &tables::TABLE_3,
    &traces::FIGURE_7,
    &traces::FIGURE_8,
    &tables::TABLE_4,
    &traces::FIGURE_10,
    &traces::FIGURE_11,
    &tables::TABLE_5,
    &tables::FIGURE_12,
    &tables::CLAIMS,
    &tables::LOSS,
    &congestion::CONGESTION,
    &tables::VARIATION,
    &tables::ASYMMETRY,
    &two_hops::TWO_HOPS,
    &upload::UPLOAD,
    &upload::BOTH,
];

#[cfg(test)]
mod tests;
