//! Tests of MTCP: packets, endpoints, and the profiles on different hops.

mod allocations;
mod endpoint;
mod hops;
mod joined;
mod late;
mod packets;
mod pair;
