//! The reasons why a connection was refused or reset.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Reason why a connection was refused or reset. The end that refuses it sends the reason; applications get the
/// matching errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The other application or its host ended the connection.
    Aborted,
    /// No application listens at the address: ECONNREFUSED.
    Refused,
    /// There is no route to the address: EHOSTUNREACH.
    Unreachable,
    /// No answer arrived in time: ETIMEDOUT.
    TimedOut,
    /// The limit of connections is reached.
    Busy,
    /// The peer does not know the connection; it has restarted, or ended the connection.
    Unknown,
    /// The ends have no profile in common that could carry the connection.
    Profile,
    /// The peer violated the protocol.
    Protocol,
    /// No listener is registered for this address.
    NotListening,
}

impl Reason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Aborted,
        Self::Refused,
        Self::Unreachable,
        Self::TimedOut,
        Self::Busy,
        Self::Unknown,
        Self::Profile,
        Self::Protocol,
        Self::NotListening,
    ];

    /// Returns its number in packets.
    pub(crate) fn number(self) -> u16 {
        self as u16
    }

    /// Returns the reason with this number, if there is one.
    pub(crate) fn numbered(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Aborted => "the other end ended the connection",
            Self::Refused => "connection refused",
            Self::Unreachable => "no route to the host",
            Self::TimedOut => "no answer in time",
            Self::Busy => "too many connections; raise the limit, or close some",
            Self::Unknown => {
                "the other end does not know the connection; it may have been restarted"
            }
            Self::Profile => "the ends have no MTCP profile in common; let both offer `wide`",
            Self::Protocol => "the other end broke the MTCP protocol",
            Self::NotListening => "nobody listens at this address",
        })
    }
}
