//! Tests of the core of a mount: with scripts, and over a file client and a file server in virtual time.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod model;
mod script;
mod seeds;
