//! What a channel promises: when packets arrive, which are lost, and what its configuration may say.

mod common;
mod configuration;
mod contract;
mod csma;
mod mtu;
mod outages;
mod shared;
mod states;
mod statistics;
mod timing;
mod world;
