//! Captures: what crosses the device and the hop of a running daemon, for `lasthop capture`.
//!
//! The client sends one line to the control socket: `capture`, and a [`Selection`] as JSON. The daemon replies with a
//! line of JSON, either an error or the [`Beginning`], and then with [`Record`]s until one side ends. If the client
//! ends its direction of the connection, the daemon sends the last counts and closes it. A daemon serves one capture at
//! a time; nothing of it costs more than a branch while there is none.

mod client;
mod queue;
mod record;
mod tap;

use serde::{Deserialize, Serialize};
use units::Duration;

pub use client::{Capture, Received, Stopper};
pub use record::{Counts, Record, Side};
pub(crate) use tap::{Ask, Tap};

/// First word of the query.
pub(crate) const QUERY: &str = "capture ";

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// True for the packets that cross the device.
    pub inner: bool,
    /// True for the frames that cross the hop.
    pub hop: bool,
    /// Name of the only peer of interest; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Largest number of bytes of each packet or frame.
    pub snap: usize,
}

/// The first line of the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    /// Version of the daemon.
    pub version: String,
    /// Difference of the wall clock (since 1970-01-01 UTC) to the clock of the records, at the beginning.
    pub wall_ahead: Duration,
}

/// The first line of the reply, as it is sent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Capture(Beginning),
    Error(String),
}
