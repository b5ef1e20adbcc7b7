//! The experiments of MTCP.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../support/claims.rs"]
mod claims;
#[path = "../support/lab.rs"]
mod lab;
mod tables;
