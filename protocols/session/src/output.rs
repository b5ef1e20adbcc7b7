//! The outputs of an [`Endpoint`](crate::Endpoint) for its owner.

use units::Duration;

use crate::former::Decline;

/// Identifier of a peer of an endpoint, for the lifetime of the endpoint; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u32);

impl PeerId {
    /// Returns the number of peers that were added before it.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Result of handling a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// It is authentic and new.
    Data {
        /// Sender of the datagram.
        peer: PeerId,
        /// Its number in its session.
        number: u64,
        /// True if no later datagram of the current session came before: only then may the owner take the source of
        /// this datagram for the peer's present address.
        newest: bool,
        /// True if this datagram is the first under its keys, and the response that led to them went to its source and
        /// nowhere else: the peer receives there.
        proven: bool,
        /// Decrypted part of the datagram; empty if the peer only confirms or probes a session.
        plaintext: &'a mut [u8],
    },
    /// It was a handshake message of this peer and was handled. It does not prove the peer's address: a copy of it
    /// may come from anywhere.
    Handshake(PeerId),
    /// The peer has left, and its keys were dropped.
    Goodbye(PeerId),
    /// It was an initiation under load, of a former key or of another version, and was dropped and counted. These
    /// bytes, a cookie reply, a response that declines or a version reply, go to its source.
    Reply(&'a mut [u8]),
    /// It was a cookie reply or a version reply, which proves nothing.
    CookieReply,
    /// It was dropped and counted. Only a refused stamp is answered.
    Dropped(DropCause),
}

/// Reason why a datagram was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// No message has this type and length.
    Malformed,
    /// A handshake message of another version.
    OtherVersion,
    /// A handshake message of a sender that does not have this host's public key.
    BadMac,
    /// More handshakes than the budget allows.
    OverBudget,
    /// An initiation under load whose sender has not shown that it receives at its address; it gets a cookie.
    Unproven,
    /// A handshake message that fails to open: forged, or meant for another host or key.
    BadHandshake,
    /// An initiation of a host that is not among the peers.
    UnknownPeer,
    /// An initiation with a former key of a peer; it is answered with the reason why it counts no more.
    Declined,
    /// An initiation that is no newer than one seen before.
    StaleHandshake,
    /// An initiation of a peer that this host initiates to, or a response that matches no initiation.
    UnexpectedHandshake,
    /// A data datagram for an index that was never assigned, or was dropped.
    UnknownIndex,
    /// A data datagram under keys that have expired.
    Expired,
    /// A packet number that was received before, or has left the window.
    Replayed,
    /// A data datagram with a wrong tag.
    BadSeal,
}

impl DropCause {
    /// All causes, in the order of [`Counters`].
    pub const ALL: [Self; 14] = [
        Self::Malformed,
        Self::OtherVersion,
        Self::BadMac,
        Self::OverBudget,
        Self::Unproven,
        Self::BadHandshake,
        Self::UnknownPeer,
        Self::Declined,
        Self::StaleHandshake,
        Self::UnexpectedHandshake,
        Self::UnknownIndex,
        Self::Expired,
        Self::Replayed,
        Self::BadSeal,
    ];
}

/// Numbers of dropped datagrams, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    dropped: [u64; DropCause::ALL.len()],
}

impl Counters {
    /// Returns the number of datagrams dropped for `cause`.
    pub const fn dropped(&self, cause: DropCause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Returns the number of datagrams dropped for any cause.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn count(&mut self, cause: DropCause) {
        self.dropped[cause as usize] += 1;
    }
}

/// Destination of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The address of the peer.
    Peer,
    /// Any address that the peer may have: an initiation may go to many, since only the peer can answer it.
    Anywhere,
    /// The source address of the datagram handled last: the answer to an initiation, whose sender has not proved its
    /// address yet.
    Reply,
}

/// An effect to carry out, or an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this datagram.
    Transmit {
        /// Peer that it is for.
        peer: PeerId,
        /// Destination address.
        route: Route,
        /// Complete datagram.
        datagram: Vec<u8>,
    },
    /// A session has changed.
    Event(Event),
}

/// A change of the session with a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session can be used: the first, or the next one after a rekey.
    Established {
        /// Peer of the session.
        peer: PeerId,
        /// Epoch that the session continues or begins: the same random number at both ends.
        epoch: u64,
        /// Extensions that the peer supports, one bit each.
        peer_features: u64,
        /// True if it begins the epoch: at first contact, and whenever one end has lost its state or another host has
        /// used its key. All state of the former epoch is void, at both ends.
        begins_anew: bool,
        /// Time since this host's first message of the handshake: a round trip of short datagrams takes no longer.
        lasted: Duration,
    },
    /// Two hosts use one key: the key of the peer, or that of this host. Each takes the sessions of the other.
    KeyShared {
        /// Peer of the session.
        peer: PeerId,
    },
    /// The responder has refused an initiation for its stamp, and has answered with the newest one that it has seen,
    /// from which the initiator goes on. Announced at either end, once a minute at most.
    StampRefused {
        /// Peer of the handshake.
        peer: PeerId,
        /// Time from the refused stamp to the newest one.
        behind: Duration,
    },
    /// The peer, an initiator, knows only the former key of this host; announced with each session that it begins so.
    FormerKeyUsed {
        /// Peer of the session.
        peer: PeerId,
    },
    /// The responder declines the key of this host. The initiator tries again, but seldom.
    Declined {
        /// Peer of the handshake.
        peer: PeerId,
        /// The reason.
        reason: Decline,
        /// Unix time of the peer, in seconds.
        clock: u64,
    },
    /// The responder does not speak the version of this host's initiation. Who saw that can forge it.
    OtherVersion {
        /// Peer of the handshake.
        peer: PeerId,
        /// True if it speaks older versions only, and false if later ones only.
        is_older: bool,
    },
    /// The peer has sent a goodbye; nothing can be sent until the next handshake, which begins a new epoch.
    Left {
        /// Peer that has left.
        peer: PeerId,
    },
    /// The last session has expired; nothing can be sent until the next handshake.
    Expired {
        /// Peer of the session.
        peer: PeerId,
    },
}

/// Reason why a packet was not sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The peer was removed, or belongs to another endpoint.
    #[error("there is no such peer")]
    UnknownPeer,
    /// There are no keys to send under: keep the packet until the next [`Event::Established`].
    #[error("no session with the peer at present")]
    NoSession,
    /// The buffer has no room for header and tag.
    #[error(
        "a buffer of {length} bytes cannot hold the header and tag of {} bytes",
        crate::DATA_OVERHEAD_BYTES
    )]
    BufferTooShort {
        /// Length of the buffer.
        length: usize,
    },
}

/// Reason why a peer cannot be added, connected or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// Another peer has the same public key.
    #[error("there is a peer with this public key already")]
    Duplicate,
    /// The public key is that of this host.
    #[error("the public key is this host's own; give the peer's")]
    OwnKey,
    /// This host has used up the numbers of peers, of which no two are equal.
    #[error("more than 4,294,967,295 peers were added; restart this host")]
    TooMany,
    /// The peer was removed, or belongs to another endpoint.
    #[error("there is no such peer")]
    Unknown,
    /// This host is the responder towards the peer, which must initiate.
    #[error("this host is the responder towards the peer and cannot connect to it")]
    NotInitiator,
}
