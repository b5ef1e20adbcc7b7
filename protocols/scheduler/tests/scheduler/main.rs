//! Tests of the scheduler.

mod air;
mod contract;
mod disciplines;
mod hints;
mod model;
mod monitors;
mod probes;
