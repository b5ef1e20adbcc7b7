//! Why a connection was not made, or is no more.

use std::fmt;

/// Why a connection was refused or reset. Told by the end that knows; applications get the errno that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The other application ended it, or its host did.
    Aborted,
    /// Nobody listens there: ECONNREFUSED.
    Refused,
    /// There is no way there: EHOSTUNREACH.
    Unreachable,
    /// There was no answer in time: ETIMEDOUT.
    TimedOut,
    /// There are as many connections as are allowed.
    Busy,
    /// The other end does not know the connection; it has been restarted, or ended it.
    Unknown,
    /// The ends have no profile in common that could carry the connection.
    Profile,
    /// The other end broke the protocol.
    Protocol,
    /// Nothing is being listened for at this address.
    NotListening,
}

impl Reason {
    /// Every reason, in the order of its number.
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

    /// Its number in packets.
    pub(crate) fn number(self) -> u16 {
        self as u16
    }

    /// The reason with this number.
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
