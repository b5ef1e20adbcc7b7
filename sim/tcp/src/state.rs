//! The states of a connection (RFC 9293 §3.3.2).

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// There is none, yet or any more.
    Closed,
    /// It waits for the other end's SYN.
    Listen,
    /// It sent a SYN.
    SynSent,
    /// It received a SYN and sent its own.
    SynReceived,
    /// Both ends may send.
    Established,
    /// This end has finished; its FIN is not acknowledged yet.
    FinWait1,
    /// This end has finished; the other may still send.
    FinWait2,
    /// The other end has finished; this one may still send.
    CloseWait,
    /// Both have finished; this end's FIN is not acknowledged yet.
    Closing,
    /// As [`State::Closing`], the other end having finished first.
    LastAck,
    /// Both have finished; old segments may still arrive.
    TimeWait,
}

impl State {
    /// Whether both ends know each other's numbers.
    pub fn is_synchronized(self) -> bool {
        self >= Self::Established
    }

    /// Whether the other end may still send data.
    pub(crate) fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// After this end has finished. During the handshake that waits: what was written is sent first.
    pub(crate) fn closed_here(self) -> Self {
        match self {
            Self::Closed | Self::Listen => Self::Closed,
            Self::Established => Self::FinWait1,
            Self::CloseWait => Self::LastAck,
            other => other,
        }
    }

    /// After this end's FIN was acknowledged.
    pub(crate) fn fin_acknowledged(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing => Self::TimeWait,
            Self::LastAck => Self::Closed,
            other => other,
        }
    }

    /// After the other end has finished.
    pub(crate) fn closed_there(self) -> Self {
        match self {
            Self::SynReceived | Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}
