//! Mobile host and gateway: the parts joined, still without I/O and clock.
//!
//! A [`Host`] stands between a packet device and a bearer of datagrams. It routes packets to the
//! [`Association`](association::Association) of the peer that they belong to, seals each frame as it
//! leaves, and opens, checks and hands on what arrives. Nothing is decided here that a part can decide.

mod agenda;
mod caps;
mod config;
mod event;
mod host;
mod path;
mod peer;
mod presence;
mod reach;
mod route;
mod search;
mod sharing;
mod status;
mod streams;
mod terms;
mod verdict;

pub use association::Profile;
pub use association::TcpMethod;
pub use caps::Caps;
pub use config::{Config, Peer, Role};
pub use event::{Event, EventKind};
pub use host::{Host, HostError};
pub use pathmtu::Config as BearerMtu;
pub use presence::Registration;
use redirector::Chunks;
pub use split::{Cause, Choice, HopCondition, Scope, SplitStatus, SystemEvent, SystemRequest};
pub use status::{PeerStatus, Status};
pub use streams::StreamLimits;
pub use terms::{SplitTerms, TcpTerms};
use units::Instant;
pub use verdict::{Facts, Limit, LimitedBy, Reach};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

/// What can happen to a [`Host`].
#[derive(Debug, Clone)]
pub enum Input {
    /// A packet from this host's own stack or, at the gateway, from the wired network.
    Packet(Packet),
    /// A datagram from the hop.
    Datagram {
        /// Who sent it, as the network says.
        from: HopAddress,
        /// When it reached this host; never after the `now` of the call.
        arrived: Instant,
        /// The field of the IP header that it came in; [`Ecn::NotCapable`] where there is none.
        ecn: Ecn,
        /// Its content.
        buffer: PacketBuffer,
    },
    /// The network says that no process takes datagrams at this address. It may be forged, so it is only told.
    PortRefused(HopAddress),
    /// Something happened in the system that splitting TCP uses: sockets and addresses.
    System(SystemEvent<Chunks>),
    /// The wall clock: nanoseconds since 1970-01-01 UTC. Told at the start and then each minute.
    Wall(u64),
    /// A datagram for that address could not leave this host: its link is down, or there is no route. Nothing is sent
    /// there until [`Input::LinkChanging`] or [`Input::LinkUp`], but for a try now and then.
    Unreachable(HopAddress),
    /// A peer that is looked for may be at this place: an answer to [`Output::Seek`].
    Found {
        /// Which peer, as the question named it.
        peer: usize,
        /// Where it may be.
        at: HopAddress,
    },
    /// Addresses or routes of this host are changing.
    LinkChanging,
    /// They have changed: what waits for a retry may retry now.
    LinkUp,
    /// News of the path of datagrams to an address.
    Path {
        /// Where they go.
        to: HopAddress,
        /// What is known.
        news: PathReport,
    },
    /// This host is about to stop: its peers are told, and it forgets them.
    Leave,
}

/// What is reported of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathReport {
    /// An ICMP message says that it carries IP packets of at most so many bytes. It may be forged.
    Said(usize),
    /// This host's network refused a datagram of so many bytes, since it is too long.
    Refused(usize),
}

/// What a [`Host`] asks of its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A packet for this host's own stack or the wired network.
    Packet(Packet),
    /// A datagram for the hop.
    Datagram {
        /// To whom.
        to: HopAddress,
        /// Its content.
        buffer: PacketBuffer,
        /// The field that its IP header is to have.
        ecn: Ecn,
    },
    /// Something is asked of the system that splitting TCP uses.
    System(SystemRequest<Chunks>),
    /// A peer has not answered for some seconds: find out where its name leads now. It comes at most every ten seconds,
    /// and ever more seldom.
    Seek {
        /// Which peer: its place in the configuration.
        peer: usize,
    },
    /// Something for the log.
    Event(Event),
}
