//! Files at a server, mounted by the real kernel and used by programs. Needs root and `/dev/fuse`.

mod promises;
mod random;
mod rig;
mod usual;
