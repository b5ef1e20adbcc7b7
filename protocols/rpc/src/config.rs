//! How a client behaves.

pub use machine::ConfigError;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use crate::Policy;

/// How a [`Client`](crate::Client) behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What carries the messages.
    pub transport: Transport,
    /// When calls are sent again over datagrams.
    pub retransmission: Policy,
    /// Calls that wait for a reply, at most; others wait for their turn.
    pub in_flight: usize,
    /// The longest message, both ways. Datagrams carry no more than 65,507 bytes.
    pub longest_message: Bytes,
    /// The server is said to be silent when it has not answered for so long, with a call waiting.
    pub silent_after: Duration,
    /// Over a stream, ask for a new connection when the server has been silent for so long.
    pub reconnect_after: Duration,
}

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Datagrams, each a message, that may be lost.
    #[default]
    Datagrams,
    /// A stream of records (RFC 5531 §11).
    Stream,
}

/// The largest UDP datagram over IPv4, in bytes.
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
    /// The same over a stream, with messages of at most `longest_message`.
    pub fn stream(longest_message: Bytes) -> Self {
        Self {
            transport: Transport::Stream,
            longest_message,
            ..Self::default()
        }
    }

    /// Says what is wrong with the configuration, if anything is.
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

/// Checks rules of the configuration, be they the client's or a policy's.
pub(crate) fn check_rules(rules: &[(bool, &'static str)]) -> Result<(), ConfigError> {
    machine::check_rules("RPC", rules)
}
