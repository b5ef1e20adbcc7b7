//! The testbed of both papers of Dube, Rais and Tripathi on NFS over a hop that fades.
//!
//! An NFS client on a mobile host copies a file from or to a server, across a base station and an air whose fades are
//! in the mobile host's driver. docs/papers/nfs.md describes the model, its calibration and its deviations from the
//! papers.
//!
//! # How to read it
//! 1. `parameters.rs`: a plan's parameters and schemes.
//! 2. `network.rs`: the nodes and links of a case; `site.rs`: server and clients, independent of the network between
//!    them; `server.rs`, `station.rs`, `client.rs`: the nodes, which only join machines; `packet.rs`: the packets of
//!    the links; `interface.rs`, `addresses.rs`: ports, events and addresses.
//! 3. The parts of a host: `copy.rs` (the application), `internet.rs` with `reassembly.rs` (UDP and IP), `fades.rs`
//!    (the driver's two states), `processor.rs` (a slow host with a small buffer).
//! 4. `run.rs`: a run and its metrics; `copies.rs`: the experiments that are such runs; `watch.rs`: runs over time;
//!    `judging.rs`: helpers of the claims.

pub(crate) mod addresses;
pub(crate) mod client;
pub(crate) mod copies;
mod copy;
mod fades;
pub(crate) mod interface;
mod internet;
pub(crate) mod judging;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod packet;
pub(crate) mod parameters;
mod processor;
mod reassembly;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod site;
mod station;
pub(crate) mod watch;

use experiment::Calibration;

/// The page on both papers.
pub(crate) const DEVIATIONS: &str = include_str!("../../../../docs/papers/nfs.md");

/// The parameters that the papers do not state.
pub(crate) const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "client.window",
        reason: "our assumption; \"idle periods follow most losses\" (1997, Section 5.6) speaks for one block",
    },
    Calibration {
        key: "mobile.kilobyte",
        reason: "fitted to the write without errors, 14.2 s",
    },
    Calibration {
        key: "air.access",
        reason: "fitted to the read without errors, 30.7 s",
    },
    Calibration {
        key: "mobile.receive_buffer",
        reason: "the papers see a read's three fragments overflow: less than three; with one, no read ends",
    },
    Calibration {
        key: "mobile.packet",
        reason: "our assumption, as the lab began with it",
    },
    Calibration {
        key: "mobile.variation",
        reason: "our assumption, as the lab began with it: 20 % about the mean",
    },
    Calibration {
        key: "server.service.per_call",
        reason: "our assumption; the papers' bottleneck is elsewhere (1995, Section 2.1)",
    },
    Calibration {
        key: "station.packet",
        reason: "nothing: the papers' bottleneck is the mobile host; so is `station.kilobyte`",
    },
    Calibration {
        key: "client.writes",
        reason: "version 2 of the protocol, as of all clients of 1995",
    },
    Calibration {
        key: "timeouts.initial",
        reason: "\"around 700 milliseconds\" (1997, Section 5.2)",
    },
    Calibration {
        key: "timeouts.step",
        reason: "our assumption: \"a small constant\"",
    },
    Calibration {
        key: "timeouts.linear_steps",
        reason: "\"after three re-trials\" (1997, Section 5.2)",
    },
    Calibration {
        key: "timeouts.maximum",
        reason: "nfs(5) of the time; the papers have a maximum and do not say which",
    },
    Calibration {
        key: "timeouts.minor",
        reason: "nfs(5) of the time: a cascade of three, the next from twice its beginning",
    },
];
