//! What a scheduler promises.

mod air;
mod contract;
mod disciplines;
mod hints;
mod model;
mod monitors;
mod probes;
