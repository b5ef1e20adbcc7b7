//! The refusal of a connection.

use association::Reason;
use wire::icmp::{Unreachable, unreachable};
use wire::packet::{Checksum, Packet};
use wire::tcp::connection_refused;

/// Reason why a connection could not be established, or was reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The other host refused it (ECONNREFUSED, ECONNRESET).
    Refused,
    /// There is no route to its network (ENETUNREACH).
    NetworkUnreachable,
    /// There is no route to it (EHOSTUNREACH).
    HostUnreachable,
    /// A firewall forbids it (EACCES, EPERM).
    Prohibited,
    /// This end does not split it; it may cross as packets.
    NotSplit,
    /// The other host did not answer, or this host cannot send it a request.
    NoAnswer,
}

impl Refusal {
    /// Returns the packet that gives the sender of `request` the error that its kernel would have got itself; none if
    /// silence is the best answer: the sender repeats its request, and gives up as it would have without a splitter.
    pub(crate) fn answer(self, request: &Packet) -> Option<Packet> {
        let original = request.ip()?;
        let buffer = match self {
            Self::Refused => connection_refused(&original),
            Self::NetworkUnreachable => unreachable(&original, Unreachable::Network),
            Self::HostUnreachable => unreachable(&original, Unreachable::Host),
            Self::Prohibited => unreachable(&original, Unreachable::Prohibited),
            Self::NotSplit | Self::NoAnswer => None,
        }?;
        Some(Packet::new(buffer).with_checksum(Checksum::Verified))
    }

    /// Returns the same for the other end of the hop, whose splitter answers with the matching packet.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Self::Refused => Reason::Refused,
            Self::NotSplit => Reason::NotListening,
            Self::NetworkUnreachable | Self::HostUnreachable | Self::Prohibited => {
                Reason::Unreachable
            }
            Self::NoAnswer => Reason::TimedOut,
        }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Refused | Reason::NotListening | Reason::Aborted => Self::Refused,
            Reason::Unreachable | Reason::Unknown | Reason::Profile | Reason::Protocol => {
                Self::HostUnreachable
            }
            Reason::TimedOut | Reason::Busy => Self::NoAnswer,
        }
    }
}
