//! Tests of the RPC client, and of the memory of its messages.

mod allocations;
mod client;
