//! The client of remote procedure calls, and what its messages cost.

mod allocations;
mod client;
