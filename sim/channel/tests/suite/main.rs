//! Guarantees of a channel: arrival times, losses, and its configuration.

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
