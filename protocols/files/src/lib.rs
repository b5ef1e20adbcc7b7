//! Files at a server as a program wants them: opened and closed, read ahead, written behind, with names and
//! attributes remembered (NFS version 3, RFC 1813).
//!
//! [`Client`] is the machine. It turns [`Operation`]s into calls, repeats what got lost by the policy of its
//! [`rpc::Config`], and tells only what is true: [`Operation::Flush`] is answered when the data are on the server's
//! disk, whatever became of server and hop meanwhile.

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
