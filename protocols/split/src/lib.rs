//! TCP split at the gateway (I-TCP, Bakre and Badrinath 1995; Haas and Warkhedi 2000 §3): a mobile host's connection
//! ends here and a second one continues to the fixed host, with the mobile host's own address if configured,
//! transparently for both.
//!
//! A [`Splitter`] runs at one end of the hop, or at both. It holds the SYN of a connection until the other host has
//! answered. Then the SYN is let in, and a transparent listener of the driver accepts the connection; or it is
//! refused with the error that the splitter's own connection got. Between the two connections a
//! [`redirector::Redirector`] carries bytes in bounded buffers, so that a slow side closes the window of the other. A
//! stream that ends early is reset.
//!
//! The connection crosses the hop as TCP of the kernel, or as a stream of the association. In the latter case the
//! mobile host has a splitter as well, which accepts its applications' connections, and no packet of them crosses the
//! hop.
//!
//! # How to read it
//! 1. `examine.rs`: the packets that a splitter handles.
//! 2. `splitter.rs` is the machine; `splitter/ask.rs`: a connection from its request to its answer;
//!    `splitter/carry.rs`: its bytes, and its end; `splitter/streams.rs`: streams across the hop; `splitter/ended.rs`:
//!    connections that only a mobile host still has. `connection.rs`: the state of a connection.
//! 3. `guard.rs` and `shares.rs`: limits on connections. `choice.rs`: packets or streams.
//! 4. `refusal.rs`: the refusal of a connection. `state.rs`: connections that another splitter goes on with.

mod choice;
mod choices;
mod config;
mod connection;
mod counters;
mod crossing;
mod examine;
mod guard;
mod refusal;
mod shares;
mod splitter;
mod state;

use association::{Profile, StreamNews, StreamRequest};
pub use choice::{Cause, Choice, HopCondition};
pub use choices::{ChoiceStatus, Chosen, Count};
pub use config::{Config, End, Mobile, Scope};
pub use counters::{Carried, Counters, SplitStatus};
pub use examine::{Found, Origin, Request};
pub use redirector::{BindingId, Side, Stream as SocketId};
pub use refusal::Refusal;
pub use splitter::Splitter;
pub use state::ConnectionState;
use std::net::{IpAddr, SocketAddr};
use units::Instant;
use wire::flow::Ends;
use wire::packet::Packet;

/// Inputs of a [`Splitter`].
#[derive(Debug, Clone)]
pub enum Input<C> {
    /// A packet for the splitter: see [`Splitter::examine`].
    Found(Found),
    /// The connections of another mobile host are split from now on, or those of one whose peer has this index are
    /// split as this says.
    MobileJoined(Mobile),
    /// The connections of a mobile host are not split any more, and those that are split are reset.
    MobileLeft {
        /// Index of its peer, as in [`Mobile::peer`]. It must not belong to another mobile host later.
        peer: usize,
    },
    /// Streams can cross the hop to a peer. Those from before go on, unless [`Input::StreamsEnded`] came first.
    StreamsBegan {
        /// Index of the peer, as in [`Mobile::peer`].
        peer: usize,
        /// Profile of its streams.
        profile: Profile,
        /// Connections of it that are split.
        scope: Scope,
    },
    /// The streams of a peer cross nothing for a while, and may go on afterwards. [`Input::StreamsBegan`] says that
    /// they do: what can be read and written is reported anew. Requests for them wait until then.
    StreamsSuspended {
        /// Index of the peer.
        peer: usize,
        /// Time until which they must go on, if there is a limit: then they end.
        until: Option<Instant>,
    },
    /// Streams can no longer cross the hop, and existing ones are gone.
    StreamsEnded {
        /// Index of the peer.
        peer: usize,
    },
    /// The connection of another splitter goes on here, with its sockets and its stream. If there is no room for it,
    /// they are reset.
    Resume {
        /// Index of the peer of its mobile host.
        owner: usize,
        /// Its state.
        state: ConnectionState<C>,
    },
    /// An event of a stream.
    Stream {
        /// Index of the peer.
        peer: usize,
        /// Event.
        news: StreamNews<C>,
    },
    /// An event of the driver's system.
    System(SystemEvent<C>),
}

/// Events of the driver's system: its sockets and addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemEvent<C> {
    /// Answer to [`SystemRequest::Locate`].
    Located {
        /// Number of the request.
        number: u64,
        /// True if the address is one of this host's.
        is_local: bool,
    },
    /// [`SystemRequest::Divert`] failed: the packets of this host's connections do not reach its listener.
    NotDiverted,
    /// The listener has accepted a connection: answered by [`SystemRequest::Adopt`] or [`SystemRequest::Dismiss`].
    Accepted(Ends),
    /// An event of a socket.
    Socket(SocketId, SocketEvent<C>),
}

/// Events of a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketEvent<C> {
    /// The requested connection is established.
    Connected,
    /// Total number of bytes that can be read now.
    Readable(u64),
    /// Bytes for [`SocketRequest::Read`].
    Data(C),
    /// Total number of bytes that can be written now.
    Writable(u64),
    /// The other side has ended its direction: nothing follows the readable bytes.
    Finished,
    /// All bytes are written, and [`SocketRequest::Finish`] was carried out.
    Flushed,
    /// The connection was reset, or could not be established.
    Failed(Refusal),
}

/// Outputs of a [`Splitter`] for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<C> {
    /// Hand the packet to this host's own stack or the wired network.
    ToHost(Packet),
    /// Send the packet across the hop.
    ToHop(Packet),
    /// A request to the streams of a peer.
    Stream {
        /// Index of the peer.
        peer: usize,
        /// Request.
        request: StreamRequest<C>,
    },
    /// A request to the system.
    System(SystemRequest<C>),
}

/// Requests to the driver's system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemRequest<C> {
    /// Check if an address is one of this host's.
    Locate {
        /// Number of the request.
        number: u64,
        /// Address.
        address: IpAddr,
    },
    /// Divert the packets of this host's own connections to its listener from now on.
    Divert,
    /// Give this identifier to the connection that was accepted between these ends.
    Adopt(Ends, SocketId),
    /// Reset the connection that was accepted between these ends: it was not let in.
    Dismiss(Ends),
    /// A request to a socket.
    Socket(SocketId, SocketRequest<C>),
}

/// Requests to a socket. Requests to sockets that no longer exist are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketRequest<C> {
    /// Connect.
    Connect(Connect),
    /// Read up to this many of the readable bytes: [`SocketEvent::Data`] brings them.
    Read(u64),
    /// Write more bytes, now or when there is room.
    Write(C),
    /// End the sending direction after the written bytes.
    Finish,
    /// Reset the connection, and drop it.
    Reset,
    /// Leave the connection to the kernel: both of its directions have ended.
    Release,
}

/// A connection to establish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connect {
    /// Destination address.
    pub destination: SocketAddr,
    /// Source address; `None` for this host and a port of its choice.
    pub source: Option<SocketAddr>,
    /// True if it crosses the hop.
    pub crosses_hop: bool,
}
