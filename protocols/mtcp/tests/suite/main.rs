//! MTCP: packets, endpoints, and what the profiles make of a hop.

mod allocations;
mod endpoint;
mod hops;
mod joined;
mod packets;
mod pair;
