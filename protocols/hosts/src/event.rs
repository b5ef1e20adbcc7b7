//! What a host tells its log.

use std::fmt;

use association::TcpMethod;
use signals::Change;
use units::Duration;
use wire::address::HopAddress;

/// Something happened with a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The peer's name.
    pub peer: String,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// There are new keys; `fresh` if the peer has started anew, so that nothing of before counts.
    Established {
        /// See above.
        fresh: bool,
    },
    /// The peer has said that it leaves.
    Left,
    /// The keys have grown too old, and the peer is out of reach.
    Expired,
    /// Nothing comes through.
    FadeBegan,
    /// Something came through again.
    FadeEnded {
        /// How long nothing had.
        lasted: Duration,
        /// No packet has been given up for it.
        kept: bool,
    },
    /// This mobile host is changing its place in the network, and it is not known yet whether the peer can be
    /// reached from the new one.
    HandoffBegan,
    /// It can.
    HandoffEnded {
        /// How long that took.
        lasted: Duration,
    },
    /// The peer, a mobile host, is now somewhere else.
    Moved {
        /// Where.
        to: HopAddress,
    },
    /// The peer does not know how TCP was to cross the hop to it, so the link layer repairs it.
    TcpRefused {
        /// What was chosen.
        chosen: TcpMethod,
    },
    /// The peer does not know how streams were to cross the hop, so TCP that is split is carried by the kernel's.
    StreamsRefused,
}

impl EventKind {
    /// What it changes for applications, if anything.
    pub fn change(&self) -> Option<Change> {
        match *self {
            Self::Established { fresh } => Some(Change::Connected { fresh }),
            Self::Left | Self::Expired => Some(Change::Expired),
            Self::FadeBegan => Some(Change::FadeBegan),
            Self::FadeEnded { lasted, kept } => Some(Change::FadeEnded { lasted, kept }),
            Self::HandoffBegan => Some(Change::HandoffBegan),
            Self::HandoffEnded { .. } => Some(Change::HandoffEnded),
            Self::Moved { .. } | Self::TcpRefused { .. } | Self::StreamsRefused => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = &self.peer;
        match self.kind {
            EventKind::Established { fresh: true } => write!(formatter, "{peer}: connected"),
            EventKind::Established { fresh: false } => write!(formatter, "{peer}: keys renewed"),
            EventKind::Left => write!(formatter, "{peer}: left"),
            EventKind::Expired => write!(formatter, "{peer}: out of reach"),
            EventKind::FadeBegan => write!(formatter, "{peer}: a fade began"),
            EventKind::FadeEnded { lasted, .. } => {
                write!(formatter, "{peer}: a fade of {lasted} ended")
            }
            EventKind::HandoffBegan => {
                write!(formatter, "{peer}: the network of this host is changing")
            }
            EventKind::HandoffEnded { lasted } => {
                write!(
                    formatter,
                    "{peer}: in reach after a change that took {lasted}"
                )
            }
            EventKind::Moved { to } => write!(formatter, "{peer}: moved to {to}"),
            EventKind::StreamsRefused => write!(
                formatter,
                "{peer}: it does not take streams by MTCP (its version does not know them, or it has no `nft`); \
                 TCP is split with the kernel's on the hop, or by \"auto\" repaired there"
            ),
            EventKind::TcpRefused { chosen } => {
                let chosen = chosen.name();
                write!(
                    formatter,
                    "{peer}: its version does not know tcp = \"{chosen}\"; TCP goes as by \"arq\""
                )
            }
        }
    }
}
