//! What a scheduler promises.

mod air;
mod contract;
mod disciplines;
mod model;
mod monitors;
