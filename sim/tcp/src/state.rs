//! The states of a connection (RFC 9293 §3.3.2).

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// There is no connection.
    Closed,
    /// This end waits for the peer's SYN.
    Listen,
    /// This end has sent a SYN.
    SynSent,
    /// This end has received a SYN and sent its own.
    SynReceived,
    /// Both ends may send.
    Established,
    /// This end has closed; its FIN is not acknowledged yet.
    FinWait1,
    /// This end has closed; the peer may still send.
    FinWait2,
    /// The peer has closed; this end may still send.
    CloseWait,
    /// Both have closed; this end's FIN is not acknowledged yet.
    Closing,
    /// Both have closed, the peer first; this end's FIN is not acknowledged yet.
    LastAck,
    /// Both have closed; old segments may still arrive.
    TimeWait,
}

impl State {
    /// Returns true if both ends know each other's sequence numbers.
    pub fn is_synchronized(self) -> bool {
        self >= Self::Established
    }

    /// Returns true if the peer may still send data.
    pub(crate) fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Returns the state after this end closes. During the handshake the close waits: written data are sent first.
    pub(crate) fn closed_here(self) -> Self {
        match self {
            Self::Closed | Self::Listen => Self::Closed,
            Self::Established => Self::FinWait1,
            Self::CloseWait => Self::LastAck,
            other => other,
        }
    }

    /// Returns the state after this end's FIN was acknowledged.
    pub(crate) fn fin_acknowledged(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing => Self::TimeWait,
            Self::LastAck => Self::Closed,
            other => other,
        }
    }

    /// Returns the state after the peer has closed.
    pub(crate) fn closed_there(self) -> Self {
        match self {
            Self::SynReceived | Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}
