//! Endpoints of TCP, and what they cost.

mod allocations;
mod endpoint;
mod snoop_pair;
