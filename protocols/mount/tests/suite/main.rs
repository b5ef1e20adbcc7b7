//! The core of a mount: beside scripts, and over a client and a server of files in virtual time.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod model;
mod script;
mod seeds;
