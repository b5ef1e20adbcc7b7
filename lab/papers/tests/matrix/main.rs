//! The matrix of schemes and channels.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../support/lab.rs"]
mod lab;
mod recording;
mod tables;
