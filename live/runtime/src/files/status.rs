//! The status of a connection, and its events.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::Protocol;

/// Status of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Address of the server.
    pub server: SocketAddr,
    /// Transport to the server.
    pub protocol: Protocol,
    /// Our address, as the server sees it without address translation.
    pub local: Option<SocketAddr>,
    /// Duration of the server's silence, if it was reported.
    #[serde(rename = "silent_for_s", with = "seconds")]
    pub silent_for: Option<Duration>,
    /// Counters of the calls.
    pub calls: rpc::Counters,
    /// Requests that have not ended.
    #[serde(rename = "requests_of_client")]
    pub waiting: usize,
    /// Bytes taken by written data that are not safe at the server, with their overhead.
    pub unsafe_bytes: u64,
    /// Number of files with such data.
    pub unsafe_files: usize,
    /// Number of times that the socket was opened again, because the host's address had changed or the stream had
    /// broken.
    pub reopened: u64,
}

/// State of the connection after each turn of the driver.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    /// Complete except for the duration of the server's silence.
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

/// An event for observers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The server has been silent while requests wait for it. Reported once.
    Silent {
        /// Time at which the server last replied, or the first of these requests was made (`edges::clock::monotonic`).
        since: Instant,
    },
    /// A server that was reported silent answers again.
    Answering {
        /// Duration of the silence.
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
