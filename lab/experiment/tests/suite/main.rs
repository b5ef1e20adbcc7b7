//! Plans and campaigns.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod campaign;
mod plan;
