//! TCP endpoints, and their cost.

mod allocations;
mod endpoint;
mod snoop_pair;
