//! What an [`Endpoint`](crate::Endpoint) says to its owner.

/// One peer of an endpoint, for as long as the endpoint lives; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u32);

/// What became of a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// It is authentic and new.
    Data {
        /// Who sent it.
        peer: PeerId,
        /// Its number in its session.
        number: u64,
        /// True if no later datagram of the current session came before: only then may the owner move
        /// the peer's address to where this one came from.
        newest: bool,
        /// The opened part of the datagram; empty where a peer only confirms or probes a session.
        plaintext: &'a mut [u8],
    },
    /// It was a handshake message of this peer and has been acted on. It says nothing about where the
    /// peer is: a copy of it may come from anywhere.
    Handshake(PeerId),
    /// The peer has left, and its keys are forgotten.
    Goodbye(PeerId),
    /// It has been dropped and counted; nothing is to be sent.
    Dropped(DropCause),
}

/// Why a datagram was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// No message of ours has this type and length.
    Malformed,
    /// A handshake message of another version.
    OtherVersion,
    /// A handshake message of somebody who does not know our public key.
    BadMac,
    /// More handshakes than the budget allows.
    OverBudget,
    /// A handshake message that fails to open: forged, or its sender means another host or another key.
    BadHandshake,
    /// An initiation of a host that is not among the peers.
    UnknownPeer,
    /// An initiation that is no newer than one seen before.
    StaleHandshake,
    /// An initiation of a peer that we initiate to, or a response that nothing waits for.
    UnexpectedHandshake,
    /// A data datagram for an index that was never given or is forgotten.
    UnknownIndex,
    /// A data datagram under keys that are too old.
    Expired,
    /// A number that has been seen or has left the window.
    Replayed,
    /// A data datagram whose tag is wrong.
    BadSeal,
}

impl DropCause {
    /// Every cause, in the order in which [`Counters`] holds them.
    pub const ALL: [Self; 12] = [
        Self::Malformed,
        Self::OtherVersion,
        Self::BadMac,
        Self::OverBudget,
        Self::BadHandshake,
        Self::UnknownPeer,
        Self::StaleHandshake,
        Self::UnexpectedHandshake,
        Self::UnknownIndex,
        Self::Expired,
        Self::Replayed,
        Self::BadSeal,
    ];
}

/// How many datagrams were dropped, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    dropped: [u64; DropCause::ALL.len()],
}

impl Counters {
    /// Datagrams dropped for `cause`.
    pub const fn dropped(&self, cause: DropCause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Datagrams dropped for any cause.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn count(&mut self, cause: DropCause) {
        self.dropped[cause as usize] += 1;
    }
}

/// Where a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// To the address of the peer.
    Peer,
    /// To wherever the peer may be: an initiation, which only the peer can answer, so that it may go to many.
    Anywhere,
    /// To the source address of the datagram that was handled last: the answer to an initiation, whose
    /// sender has yet to prove where it is.
    Reply,
}

/// What is to be done or known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this datagram.
    Transmit {
        /// For whom it is.
        peer: PeerId,
        /// Where it goes.
        route: Route,
        /// All of it.
        datagram: Vec<u8>,
    },
    /// Something changed.
    Event(Event),
}

/// A change in the relation to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session is there to send in: the first, or the next one after a rekey.
    Established {
        /// With whom.
        peer: PeerId,
        /// The random number that the peer drew when it started.
        peer_epoch: u64,
        /// What the peer says that it can or will do, a bit each.
        peer_features: u64,
        /// True at first contact and whenever the peer has lost its state since: nothing numbered in
        /// its former life means anything now.
        new_peer_incarnation: bool,
    },
    /// The peer has said that it leaves; nothing can be sent until the next handshake, which begins a new life.
    Left {
        /// Who.
        peer: PeerId,
    },
    /// The last session has grown too old; nothing can be sent until the next handshake.
    Expired {
        /// With whom.
        peer: PeerId,
    },
}

/// Why nothing was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The peer was removed, or belongs to another endpoint.
    #[error("there is no such peer")]
    UnknownPeer,
    /// No keys to send under: keep the packet until the next [`Event::Established`].
    #[error("no session with the peer at present")]
    NoSession,
    /// The buffer has no room for header and tag.
    #[error(
        "a buffer of {length} bytes cannot hold the header and tag of {} bytes",
        crate::DATA_OVERHEAD_BYTES
    )]
    BufferTooShort {
        /// Bytes given.
        length: usize,
    },
}

/// Why a peer cannot be added, connected or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// Two peers with one key could not be told apart.
    #[error("there is a peer with this public key already")]
    Duplicate,
    /// A host that is its own peer.
    #[error("the public key is this host's own; give the peer's")]
    OwnKey,
    /// The peer was removed, or belongs to another endpoint.
    #[error("there is no such peer")]
    Unknown,
    /// This host waits for the peer to initiate.
    #[error("this host is the responder towards the peer and cannot connect to it")]
    NotInitiator,
}
