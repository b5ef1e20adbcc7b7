//! Endpoints of TCP, and what they cost.

mod allocations;
mod endpoint;
mod pair;
mod snoop_pair;
