//! MTCP, the split transport of the hop (Haas and Warkhedi 2000), with the additions that carrying TCP connections
//! needs.
//!
//! A connection of the mobile host ends at the gateway; MTCP carries it between the two, without IP, and the
//! redirector joins it to ordinary TCP. The hop keeps the order of packets, so an arrival out of order *is* a loss:
//!
//! - the receiver requests missing data at once (RRQ), with their length in bytes (`receiver.rs`);
//! - the sender repeats that burst within the window that the receiver gives: there is no congestion window and no
//!   back-off (`sender.rs`);
//! - the retransmission cycle distinguishes a lost repair from one that is still on its way (`cycle.rs`);
//! - the timer, smoothed round trip and four deviations on a coarse tick, is left for the rest.
//!
//! Two profiles share this one mechanism ([`Profile`]): the paper's, bit for bit, and a wide one with 32-bit numbers,
//! in which every packet is a cycle of its own and acknowledgements report several holes. `docs/mtcp-packet.md` has
//! the formats.
//!
//! [`Endpoint`] is one host's end of the hop with all its connections. The content of streams is a type parameter,
//! that of the redirector ([`redirector::Content`]): counted bytes in the simulator, shared chunks live. The endpoint
//! chooses each packet only when the driver polls: a driver that answers [`Output::Readable`] with [`Input::Read`] at
//! once sees the window that it opened in the very next packet.
//!
//! ```
//! use machine::{Machine, RandomStream};
//! use mtcp::{Addresses, Config, ConnectionId, Endpoint, Input, Output};
//! use redirector::Count;
//! use units::Instant;
//!
//! let mut ends = ["mobile", "gateway"].map(|name| {
//!     Endpoint::new(Config::paper(), RandomStream::named(7, name)).expect("the paper's values are right")
//! });
//! let (server, client) = (([192, 0, 2, 1], 80).into(), ([10, 9, 0, 2], 40_000).into());
//! let addresses = Addresses::new(server, client).expect("one family");
//! let connection = ConnectionId::Opened(1);
//! let mut work = vec![
//!     (0, Input::Open { number: 1, addresses }),
//!     (0, Input::Write(connection, Count(5_000))),
//!     (0, Input::Close(connection)),
//! ];
//! let mut received = 0;
//! while !work.is_empty() {
//!     let (end, input) = work.remove(0);
//!     ends[end].handle_input(Instant::ZERO, input);
//!     while let Some(output) = ends[end].poll_output() {
//!         match output {
//!             // A hop without loss: what one end sends reaches the other.
//!             Output::Packet(packet) => work.push((1 - end, Input::Packet(packet))),
//!             Output::Arrived(id, _) => ends[end].handle_input(Instant::ZERO, Input::Accept(id)),
//!             Output::Readable(id, bytes) => ends[end].handle_input(Instant::ZERO, Input::Read(id, bytes)),
//!             Output::Data(_, Count(bytes)) => received += bytes,
//!             _ => {}
//!         }
//!     }
//! }
//! assert_eq!(received, 5_000);
//! ```
//!
//! # How to read it
//! 1. `endpoint.rs` is the machine, and `table.rs` its connections; `connection.rs` joins the two halves of a
//!    connection, with the handshake (`connection/open.rs`), arriving packets (`connection/arrive.rs`) and the timers
//!    (`connection/ask.rs`).
//! 2. `sender.rs`: acknowledgements, retransmissions, the next packet; `sender/flight.rs`: packets in flight.
//! 3. `receiver.rs`: reassembly (`receiver/held.rs`, `receiver/ready.rs`), the window, requests and acknowledgements.
//! 4. `cycle.rs`, `round_trip.rs`, `tick.rs`: certain losses, round trips, timers.
//! 5. `offer.rs`: the profile that a SYN offers. `state.rs`: a connection as serializable state, to resume elsewhere.

mod config;
mod connection;
mod counters;
mod cycle;
mod deadlines;
mod endpoint;
mod numbers;
mod offer;
pub mod packet;
mod reason;
mod receiver;
mod round_trip;
mod sender;
mod state;
mod table;
mod tick;

pub use config::{
    Acknowledging, AutoBuffer, Clock, Config, ConfigError, Limits, OnTimeout, Repair, Selective,
    Timing,
};
pub use connection::{Phase, Status};
pub use counters::{Connections, Counters, Received, Refused, Sent, Traffic};
pub use endpoint::Endpoint;
pub use packet::{Addresses, Packet, Profile};
pub use reason::Reason;
pub use state::{ConnectionState, ResumeError};

use serde::{Deserialize, Serialize};
use units::Duration;

/// Identifier of a connection between an [`Endpoint`] and its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionId {
    /// Opened by this end, under a number that the driver chose.
    Opened(u64),
    /// Opened by the peer; the endpoint counts these from 0.
    Arrived(u64),
}

/// Inputs of an [`Endpoint`]. Inputs for connections that no longer exist are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<C> {
    /// A packet arrives on a hop that keeps the order.
    Packet(Packet<C>),
    /// A packet arrives on a hop that numbers packets in the order in which they are sent. This order decides the
    /// meaning of a packet that was overtaken.
    Numbered(u64, Packet<C>),
    /// A packet arrives that could not be parsed.
    Damaged,
    /// Total bytes that the hop takes now: data wait until it does, the repairs first. Without this input the
    /// endpoint sends as much as the windows allow, as in the paper; if a window is larger than the hop needs, its
    /// excess then stands in a queue, with repairs behind it.
    Room(u64),
    /// Longest packet that the hop carries now, in bytes. Data are sent in packets of at most this length, also those
    /// that were sent in longer ones before. Without it, as long as both ends agreed on.
    Longest(u16),
    /// Round-trip time of the hop: new connections use it for their timeouts until they have their own measurement.
    /// Without it they use the initial timeout, which suits any hop.
    RoundTrip(Duration),
    /// Open a connection, under a number that no other open one has.
    Open {
        /// Number of its [`ConnectionId::Opened`].
        number: u64,
        /// Addresses of both ends, as applications know them.
        addresses: Addresses,
    },
    /// Accept the connection of [`Output::Arrived`].
    Accept(ConnectionId),
    /// Refuse the connection of [`Output::Arrived`].
    Refuse(ConnectionId, Reason),
    /// Send more bytes. Bytes beyond the send buffer wait as well.
    Write(ConnectionId, C),
    /// Hand up to this many bytes to the application: [`Output::Data`] brings them.
    Read(ConnectionId, u64),
    /// End this end's stream: nothing more will be written.
    Close(ConnectionId),
    /// Reset the connection at once.
    Abort(ConnectionId, Reason),
}

/// Outputs of an [`Endpoint`] for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<C> {
    /// Send a packet.
    Packet(Packet<C>),
    /// The peer opens a connection: answer with [`Input::Accept`] or [`Input::Refuse`].
    Arrived(ConnectionId, Addresses),
    /// The connection is established.
    Connected(ConnectionId),
    /// Total number of bytes that can be read now.
    Readable(ConnectionId, u64),
    /// The answer to [`Input::Read`].
    Data(ConnectionId, C),
    /// Total number of bytes that can be written now.
    Writable(ConnectionId, u64),
    /// The peer has finished its stream, and all of it has arrived.
    Finished(ConnectionId),
    /// The connection was not established, or was reset. Its ID may be used again.
    Reset(ConnectionId, Reason),
    /// Both streams have ended, and all their data were acknowledged and read. The ID may be used again.
    Closed(ConnectionId),
}
