//! Both papers of Dube, Rais and Tripathi on NFS over a hop that fades: the testbed that they share.
//!
//! A client of files on a mobile host copies a file from or to a server, across a base station and an air whose fades
//! stand in the mobile host's driver. docs/papers/nfs.md says how the model was set up, what it was calibrated to and
//! where it deviates.
//!
//! # How to read it
//! 1. `parameters.rs`: a plan's parameters and schemes.
//! 2. `network.rs`: the nodes and links of a case; `server.rs`, `station.rs`, `client.rs`: the nodes, which only join
//!    machines; `packet.rs`: what crosses the links.
//! 3. The parts of a host: `copy.rs` (the application), `internet.rs` with `reassembly.rs` (UDP and IP), `fades.rs`
//!    (the driver's two states), `processor.rs` (a slow host with a small buffer).
//! 4. `run.rs`: a run and what is measured; `copies.rs`: the experiments that are such runs.

mod client;
pub(crate) mod copies;
mod copy;
mod fades;
mod internet;
mod network;
mod node;
mod packet;
mod parameters;
mod processor;
mod reassembly;
pub(crate) mod run;
mod server;
mod station;
