//! What a host tells its log.

use std::fmt;

use association::TcpMethod;
use units::Duration;

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
    /// The keys have grown too old, and the peer is out of reach.
    Expired,
    /// Nothing comes through.
    FadeBegan,
    /// Something came through again.
    FadeEnded {
        /// How long nothing had.
        lasted: Duration,
    },
    /// The peer does not know how TCP was to cross the hop to it, so the link layer repairs it.
    TcpRefused {
        /// What was chosen.
        chosen: TcpMethod,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = &self.peer;
        match self.kind {
            EventKind::Established { fresh: true } => write!(formatter, "{peer}: connected"),
            EventKind::Established { fresh: false } => write!(formatter, "{peer}: keys renewed"),
            EventKind::Expired => write!(formatter, "{peer}: out of reach"),
            EventKind::FadeBegan => write!(formatter, "{peer}: a fade began"),
            EventKind::FadeEnded { lasted } => {
                write!(formatter, "{peer}: a fade of {lasted} ended")
            }
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
