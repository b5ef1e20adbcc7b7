//! What is to be told of a connection.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::Protocol;

/// How a connection does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Where the server is.
    pub server: SocketAddr,
    /// Through what it is reached.
    pub protocol: Protocol,
    /// Our address, as the server sees it if nobody translates it.
    pub local: Option<SocketAddr>,
    /// For how long the server has been silent, if that was said.
    #[serde(rename = "silent_for_s", with = "seconds")]
    pub silent_for: Option<Duration>,
    /// What the calls have cost so far.
    pub calls: rpc::Counters,
    /// Requests that have not ended.
    #[serde(rename = "requests_of_client")]
    pub waiting: usize,
    /// What was written and is not safe at the server, with what it takes to keep it, in bytes.
    pub unsafe_bytes: u64,
    /// How many files have such data.
    pub unsafe_files: usize,
    /// Times that the socket had to be opened again: the host's address had changed, or the stream had broken.
    pub reopened: u64,
}

/// What the driver tells of the connection after each of its turns.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    /// All but for how long the server has been silent.
    pub(super) status: Status,
    pub(super) silent_since: Option<Instant>,
}

impl Snapshot {
    pub(super) fn at(self, now: Instant) -> Status {
        Status {
            silent_for: self.silent_since.map(|since| now.since(since)),
            ..self.status
        }
    }
}

/// What observers of a connection are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The server has not answered since then (`edges::clock::monotonic`), and requests wait for it. Said once.
    Silent {
        /// When it was heard last, or the first of these requests was made.
        since: Instant,
    },
    /// A server that was said to be silent answers again, after so long.
    Answering {
        /// How long it was silent.
        after: Duration,
    },
}

/// A span as a number of seconds, or null.
mod seconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::Duration;

    #[expect(clippy::ref_option, reason = "serde passes the field by reference")]
    pub(super) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        output: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(Duration::as_secs_f64).serialize(output)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(input)?;
        Ok(seconds.map(|seconds| Duration::from_nanos((seconds * 1e9) as u64)))
    }
}
