//! The experiments of the papers: their golden tables, and the claims that hold.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod claims;
mod csdp96;
mod handoff;
mod lab;
mod matrix;
mod mtcp00;
mod nfs;
mod nfs_csdp;
mod ton97;
