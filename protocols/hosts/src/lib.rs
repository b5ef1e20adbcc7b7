//! Mobile host and gateway: all parts joined, without I/O and clock.
//!
//! A [`Host`] stands between a packet device and a bearer of datagrams. It routes packets to the
//! [`Association`](association::Association) of their peer, seals each frame as it leaves, and opens, checks and
//! passes on each datagram that arrives. It leaves to its parts every decision that a part can make.

mod agenda;
mod candidate;
mod caps;
mod config;
mod detour;
mod event;
mod host;
mod joining;
mod keepalive;
mod leases;
mod path;
mod peer;
mod peers;
mod places;
mod presence;
mod reach;
mod repetition;
mod resolver;
mod route;
mod search;
mod sharing;
mod site;
mod status;
mod streams;
mod summary;
mod tap;
mod terms;
mod trouble;
mod verdict;
mod ways;

pub use association::Profile;
pub use association::TcpMethod;
pub use caps::Caps;
pub use config::{Config, GuestExits, Membership, MobileTerms, Peer, Role, memory_least};
pub use event::{Event, EventKind};
pub use host::{AdmitError, Host, HostError};
pub use joining::{Joining, JoiningInput, JoiningOutput};
pub use pathmtu::Config as BearerMtu;
pub use places::{PlaceState, PlaceStatus};
pub use presence::Registration;
use std::net::IpAddr;

use redirector::Chunks;
pub use resolver::ResolverTerms;
use serde::{Deserialize, Serialize};
use session::PublicKey;
pub use session::{Decline, OwnKeys};
pub use site::{ComparisonStatus, SitePart, SiteStatus, Told};
pub use split::{Cause, Choice, HopCondition, Scope, SplitStatus, SystemEvent, SystemRequest};
pub use status::{NextKeyStatus, PeerStatus, Status};
pub use streams::{Handover, StreamLimits};
pub use summary::{PeerSummary, Summary};
pub use terms::{SplitTerms, TcpTerms};
pub use trouble::{CLOCKS, Circumstance, Trouble, TroubleCode, decline_words};
use units::{Bytes, Duration, Instant};
pub use verdict::{Limit, LimitedBy, Reach, VerdictInputs};
use wire::address::HopAddress;
use wire::capture::CaptureDirection;
pub use wire::hop::{ClaimRefusal, Resolvers};
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

/// Inputs of a [`Host`].
#[derive(Debug, Clone)]
pub enum Input {
    /// A packet from this host's own stack or, at the gateway, from the wired network.
    Packet(Packet),
    /// A datagram from the hop.
    Datagram {
        /// Source address, as the network reports it.
        from: HopAddress,
        /// Time when it reached this host; never after the `now` of the call.
        arrived: Instant,
        /// ECN field of its IP header; [`Ecn::NotCapable`] if there is none.
        ecn: Ecn,
        /// Its content.
        buffer: PacketBuffer,
    },
    /// The network reports that no process receives datagrams at this address. It may be forged, so it only serves
    /// the status, and hastens what silence leads to.
    PortRefused(HopAddress),
    /// An event in the system that split TCP uses: sockets and addresses.
    System(SystemEvent<Chunks>),
    /// The wall clock: nanoseconds since 1970-01-01 UTC. It comes at the start and then each minute.
    Wall(u64),
    /// A datagram for that address could not leave this host: its link is down, or there is no route. Except for
    /// occasional tries, nothing is sent there until [`Input::LinkChanging`] or [`Input::LinkUp`].
    Unreachable(HopAddress),
    /// The answer to [`Output::Seek`]: an address where the peer may be.
    Found {
        /// Number of the peer, as in the request. It is ignored if that peer was revoked.
        peer: usize,
        /// Address where it may be.
        at: HopAddress,
    },
    /// A circumstance that may keep this host from its peer, in words; `None` if it is so no longer.
    Circumstance(Circumstance, Option<String>),
    /// Addresses or routes of this host are changing.
    LinkChanging,
    /// They have changed: what waits for a retry is tried again now.
    LinkUp,
    /// A program says that the hop of this host, a mobile one, is about to change, or to end. In a site with several
    /// gateways another one serves it by then, if one answers.
    HandoffAnnounced {
        /// Time until then.
        within: Duration,
        /// The gateway at the other end of that hop, if it need not be the present one.
        gateway: Option<PublicKey>,
    },
    /// News of the path of datagrams to an address.
    Path {
        /// Address of the path's end.
        to: HopAddress,
        /// The report.
        news: PathReport,
    },
    /// Another peer, or other settings of the peer that has this public key. The result comes as an event:
    /// [`EventKind::Admitted`], [`EventKind::Changed`], or [`EventKind::NotAdmitted`], which changes nothing.
    Admit {
        /// The peer.
        peer: Box<Peer>,
        /// Connections of it that are split, if any are.
        scope: Option<Scope>,
    },
    /// The peer with this public key is no peer any more. It gets a goodbye, and from then on this reason.
    Revoke(PublicKey, Decline),
    /// The claim of this peer ([`Output::Claim`]) is refused.
    ClaimRefused {
        /// Public key of the peer.
        of: PublicKey,
        /// The reason.
        reason: ClaimRefusal,
    },
    /// Other keys of this host, a gateway. Sessions go on, and mobile hosts that know the former key learn of the
    /// present one in them.
    Keys(Box<OwnKeys>),
    /// The next key of this host, a mobile one. It claims the key at its gateway, and goes on with it once the gateway
    /// has taken it ([`EventKind::OwnKeyReplaced`]).
    NextKey(Box<OwnKeys>),
    /// This host, a mobile one, is to be served by the gateway of its site with this key.
    MoveTo(PublicKey),
    /// This host, a mobile one, is to compare the gateways of its site again, which it does not while one serves that
    /// was chosen by [`Input::MoveTo`].
    Compare,
    /// This host, a gateway of a site, is to be left by its mobile hosts, for others of the site; or, if this is false,
    /// no more.
    Drain(bool),
    /// This host has too little of the processor. A gateway of a site asks a part of its mobile hosts to look for a
    /// better one. It is told so again while that lasts.
    Overloaded,
    /// The system is ready for packets with these inner addresses, each with a prefix length in bits, as asked for by
    /// [`Output::Exits`].
    ExitsOpen(Vec<(IpAddr, u8)>),
    /// What gateways of the site have told a former life of this host ([`Host::told`]). It holds until they tell it
    /// again, and what the configuration has comes first.
    Told(Vec<Told>),
    /// Most memory for all peers together from now on, if it is limited.
    Memory(Bytes),
    /// Another process is to go on with the split connections of this host, a gateway that is about to stop:
    /// [`Output::HandedOver`] has them, and their sockets are left as they are.
    HandOver,
    /// This host, a gateway that has just begun, goes on with the split connections of another process. The driver has
    /// their sockets ([`Handover::sockets`]); those of mobile hosts that this gateway does not know are reset.
    TakeOver(Box<Handover>),
    /// This host is about to stop: it notifies its peers and forgets them.
    Leave,
}

/// What a tap copies of all that crosses the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapConfig {
    /// Name of the only peer of interest; `None` for all.
    pub peer: Option<String>,
    /// Largest number of bytes copied of each frame.
    pub snap: usize,
}

/// A copy of something that crosses the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tapped {
    /// Its direction.
    pub direction: CaptureDirection,
    /// Length of the header and of all that crosses, in bytes.
    pub length: usize,
    /// A [`CaptureHeader`](wire::capture::CaptureHeader), then what crosses, perhaps not all of it.
    pub bytes: Vec<u8>,
}

/// A report on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathReport {
    /// An ICMP message reports that it carries IP packets of at most this many bytes. It may be forged.
    Said(usize),
    /// This host's network refused a datagram of this many bytes, since it is too long.
    Refused(usize),
}

/// A change of where packets of a mobile host leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitChange {
    /// Those of a guest are to leave at this gateway: the driver makes the system ready to translate the addresses, or
    /// announces them, and leads packets to them here. Nothing leaves before [`Input::ExitsOpen`].
    Begins,
    /// They do so no more.
    Ends,
    /// Those of one that belongs here leave here as before, but another gateway may have announced the addresses: the
    /// driver announces them anew.
    Stays,
}

/// Outputs of a [`Host`], for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A packet for this host's own stack or the wired network.
    Packet(Packet),
    /// A datagram for the hop.
    Datagram {
        /// Destination address.
        to: HopAddress,
        /// Its content.
        buffer: PacketBuffer,
        /// ECN field that its IP header must have.
        ecn: Ecn,
    },
    /// A request to the system that split TCP uses.
    System(SystemRequest<Chunks>),
    /// A peer has not answered for some seconds: resolve its name again. The request comes at most every ten seconds,
    /// and less and less often.
    Seek {
        /// Number of the peer: peers are numbered as they are added, from 0 on, and no number is used again.
        peer: usize,
    },
    /// A peer claims another key. The driver stores it, and then revokes the peer with the present key and admits it
    /// with the other one; or it refuses the claim with [`Input::ClaimRefused`]. A peer that gets no answer claims
    /// again. A mobile host goes on with the claimed key of its gateway at once; its driver only stores that one.
    Claim {
        /// The present public key of the peer.
        of: PublicKey,
        /// The claimed one.
        key: PublicKey,
    },
    /// What the gateway offers as the resolver of the hop, if that is new; without servers it offers none.
    Resolvers(Resolvers),
    /// Gateways have told something else than before ([`Host::told`]): the driver may store it.
    Told,
    /// Where packets with these inner addresses leave.
    Exits {
        /// Each is an address and a prefix length in bits.
        prefixes: Vec<(IpAddr, u8)>,
        /// What is new.
        change: ExitChange,
    },
    /// The split connections of this host, as asked for by [`Input::HandOver`].
    HandedOver(Box<Handover>),
    /// An event for the log.
    Event(Event),
}
