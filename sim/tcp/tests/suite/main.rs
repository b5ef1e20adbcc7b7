//! TCP endpoints, and their cost.

mod allocations;
mod endpoint;
mod pair;
mod snoop_pair;
