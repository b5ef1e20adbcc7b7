//! The configuration of a client.

pub use machine::ConfigError;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use crate::Policy;

/// Configuration of a [`Client`](crate::Client).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Transport of the messages.
    pub transport: Transport,
    /// Retransmission policy over datagrams.
    pub retransmission: Policy,
    /// Largest number of calls that wait for a reply; others wait for their turn.
    pub in_flight: usize,
    /// Longest message, both ways. Datagrams carry no more than 65,507 bytes.
    pub longest_message: Bytes,
    /// Time without an answer, with a call waiting, after which the server is reported silent.
    pub silent_after: Duration,
    /// Time of silence after which a new connection is requested, over a stream.
    pub reconnect_after: Duration,
}

/// Transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Datagrams, each with one message; they may be lost.
    #[default]
    Datagrams,
    /// A stream of records (RFC 5531 §11).
    Stream,
}

/// Largest UDP datagram over IPv4, in bytes.
const DATAGRAM_MAX: u64 = 65_507;

impl Default for Config {
    fn default() -> Self {
        Self {
            transport: Transport::Datagrams,
            retransmission: Policy::default(),
            in_flight: 256,
            longest_message: Bytes::new(DATAGRAM_MAX),
            silent_after: Duration::from_secs(5),
            reconnect_after: Duration::from_secs(60),
        }
    }
}

impl Config {
    /// Returns the default configuration over a stream, with messages of at most `longest_message`.
    pub fn stream(longest_message: Bytes) -> Self {
        Self {
            transport: Transport::Stream,
            longest_message,
            ..Self::default()
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value is out of its limits.
    pub fn check(&self) -> Result<(), ConfigError> {
        let longest = match self.transport {
            Transport::Datagrams => DATAGRAM_MAX,
            Transport::Stream => (1 << 31) - 1,
        };
        check_rules(&[
            (self.in_flight > 0, "`in_flight` must be at least 1"),
            (
                (1_024..=longest).contains(&self.longest_message.get()),
                "`longest_message` must lie between 1 KiB and 65,507 bytes, or 2 GiB over a stream",
            ),
            (
                !self.silent_after.is_zero() && !self.reconnect_after.is_zero(),
                "`silent_after` and `reconnect_after` must be more than 0 s",
            ),
        ])?;
        self.retransmission.check()
    }
}

/// Checks rules of the configuration, of the client or of a policy.
pub(crate) fn check_rules(rules: &[(bool, &'static str)]) -> Result<(), ConfigError> {
    machine::check_rules("RPC", rules)
}
