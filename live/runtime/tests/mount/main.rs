//! Files at a server, mounted by the real kernel and used by programs. Needs root and `/dev/fuse`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod promises;
mod random;
mod rig;
mod usual;
