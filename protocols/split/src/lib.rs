//! TCP split at the gateway (I-TCP, Bakre and Badrinath 1995; Haas and Warkhedi 2000 §3): a mobile host's connection
//! ends here and a second one goes on to the fixed host, in the mobile's own name if that is wanted, and neither
//! notices.
//!
//! A [`Splitter`] stands at one end of the hop, or at both. It holds the first segment of a connection until the other
//! host has answered. Then the segment is let in, and a transparent listener of the driver accepts the connection; or
//! it is refused as the other host, or the way to it, refused ours. Between the two connections a
//! [`redirector::Redirector`] carries bytes in bounded buffers, so that a slow side closes the window of the other. A
//! stream that ends early is reset.
//!
//! Across the hop goes TCP of the kernel, or a stream of the association. Then the mobile host has a splitter as well,
//! which takes what its applications ask for, and no packet of the connection crosses the hop.
//!
//! # How to read it
//! 1. `examine.rs`: which packets matter here.
//! 2. `splitter.rs` is the machine; `splitter/ask.rs`: a connection from its request to its answer;
//!    `splitter/carry.rs`: its bytes, and its end; `splitter/streams.rs`: streams across the hop. `connection.rs`: what
//!    is known of one.
//! 3. `guard.rs` and `shares.rs`: who may have how many connections. `choice.rs`: packets or streams.
//! 4. `refusal.rs`: how a connection is refused that could not be made.

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

use association::{Profile, StreamNews, StreamRequest};
pub use choice::{Because, Choice, HopCondition};
pub use choices::{ChoiceStatus, Chosen, Count};
pub use config::{Config, End, Mobile, Scope};
pub use counters::{Carried, Counters, SplitStatus};
pub use examine::{Found, Origin, Request};
pub use redirector::{BindingId, Side, Stream as SocketId};
pub use refusal::Refusal;
pub use splitter::Splitter;
use std::net::{IpAddr, SocketAddr};
use wire::flow::Ends;
use wire::packet::Packet;

/// What can happen to a [`Splitter`].
#[derive(Debug, Clone)]
pub enum Input<C> {
    /// A packet matters here: see [`Splitter::examine`].
    Found(Found),
    /// Streams can cross the hop to a peer; none of an earlier time exists any more.
    StreamsBegan {
        /// The peer, as in [`Mobile::peer`].
        peer: usize,
        /// The profile of its streams.
        profile: Profile,
        /// Which of its connections are split.
        scope: Scope,
    },
    /// They cannot any more, and those that existed are gone.
    StreamsEnded {
        /// The peer.
        peer: usize,
    },
    /// News of a stream.
    Stream {
        /// The peer.
        peer: usize,
        /// The news.
        news: StreamNews<C>,
    },
    /// Something happened in the driver's system.
    System(SystemEvent<C>),
}

/// What happens in the system of a splitter's driver: its sockets and addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemEvent<C> {
    /// The answer to [`SystemRequest::Locate`].
    Located {
        /// The number of the question.
        number: u64,
        /// The address is one of this host's.
        is_local: bool,
    },
    /// [`SystemRequest::Divert`] failed: the packets of this host's connections do not come to its listener.
    NotDiverted,
    /// The listener has accepted a connection: answered by [`SystemRequest::Adopt`] or [`SystemRequest::Dismiss`].
    Accepted(Ends),
    /// Something happened on a socket.
    Socket(SocketId, SocketEvent<C>),
}

/// What happens on a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketEvent<C> {
    /// The connection that was asked for is made.
    Connected,
    /// So many bytes can be read now, in all.
    Readable(u64),
    /// The answer to [`SocketRequest::Read`].
    Data(C),
    /// So many bytes can be written now, in all.
    Writable(u64),
    /// The other side has ended its direction: nothing comes after what is readable.
    Finished,
    /// All is written, and [`SocketRequest::Finish`] has been carried out.
    Flushed,
    /// The connection is broken, or could not be made.
    Failed(Refusal),
}

/// What a [`Splitter`] asks of its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<C> {
    /// Hand the packet to this host's own stack or the wired network.
    ToHost(Packet),
    /// Send the packet across the hop.
    ToHop(Packet),
    /// Something is asked of the streams of a peer.
    Stream {
        /// The peer.
        peer: usize,
        /// The request.
        request: StreamRequest<C>,
    },
    /// Something is asked of the system.
    System(SystemRequest<C>),
}

/// What a splitter asks of its driver's system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemRequest<C> {
    /// Find out whether an address is one of this host's.
    Locate {
        /// The number of the question.
        number: u64,
        /// The address.
        address: IpAddr,
    },
    /// Lead the packets of this host's own connections to its listener from now on.
    Divert,
    /// The connection that was accepted between these ends has this name from now on.
    Adopt(Ends, SocketId),
    /// Reset the connection that was accepted between these ends: nobody let it in.
    Dismiss(Ends),
    /// Something is asked of a socket.
    Socket(SocketId, SocketRequest<C>),
}

/// What is asked of a socket. Requests for sockets that are gone change nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketRequest<C> {
    /// Connect.
    Connect(Connect),
    /// Take up to so many of the bytes that are readable: [`SocketEvent::Data`] brings them.
    Read(u64),
    /// Write more bytes, now or when there is room.
    Write(C),
    /// End the sending direction after what was written.
    Finish,
    /// Reset the connection, and forget it.
    Reset,
    /// Leave the connection to the kernel, both of whose directions have ended.
    Release,
}

/// A connection that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connect {
    /// To whom.
    pub destination: SocketAddr,
    /// In whose name; `None` stands for this host and a port of its choice.
    pub source: Option<SocketAddr>,
    /// It crosses the hop.
    pub crosses_hop: bool,
}
