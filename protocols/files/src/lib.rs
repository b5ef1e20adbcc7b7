//! Files at a server, as programs use them: opened and closed, read ahead, written behind, with cached names and
//! attributes (NFS version 3, RFC 1813).
//!
//! [`Client`] is the machine. It turns [`Operation`]s into calls and retransmits lost ones by the policy of its
//! [`rpc::Config`]. It reports success only when it is true: [`Operation::Flush`] is answered when the data are on the
//! server's disk, even if the server or the hop failed meanwhile.

mod block;
mod client;
mod config;
mod content;
mod counters;
mod error;
mod events;
mod node;
mod operation;
mod window;

pub use client::{AGAIN_AFTER, Client};
pub use config::{
    BLOCK_MAX, BLOCK_MIN, BlockSize, Config, ConfigError, ServerLimits, Validity, Window, Writes,
};
pub use counters::Counters;
pub use error::Error;
pub use events::{
    Answer, Entry, Found, Input, ListPlace, Listed, OpenFile, Output, Request, Ticket,
};
pub use operation::{Ask, FromReply, Operation, Page, Reply, ask};
