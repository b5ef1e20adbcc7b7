//! MTCP, the split transport of the hop (Haas and Warkhedi 2000), and what it needs to carry other people's TCP.
//!
//! A connection of the mobile host ends at the gateway; MTCP carries it between the two, without IP, and the
//! redirector joins it to ordinary TCP. The hop keeps the order of packets, so an arrival out of order *is* a loss:
//!
//! - the receiver asks for what is missing at once (RRQ), and says how many bytes that is (`receiver.rs`);
//! - the sender repeats that burst, at the window that the receiver gives: there is no congestion window and no
//!   back-off (`sender.rs`);
//! - a repair that is lost is told from one that is on its way by the retransmission cycle (`cycle.rs`);
//! - the timer, smoothed round trip and four deviations on a coarse tick, is left for the rest.
//!
//! Two profiles share this one mechanism ([`Profile`]): the paper's, bit for bit, and a wide one with 32-bit numbers,
//! in which every packet is a cycle of its own and acknowledgements tell of several holes. `docs/mtcp-packet.md` has
//! the formats.
//!
//! [`Endpoint`] is one host's end of the hop with all its connections. What streams carry is a parameter, that of the
//! redirector ([`redirector::Content`]): counted bytes in the simulator, shared chunks live. Everything that is sent
//! is decided when the driver asks: one that answers [`Output::Readable`] with [`Input::Read`] at once sees the window
//! that it opened in the very next packet.
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
//! 1. `endpoint.rs` is the machine, and `table.rs` what it knows; `connection.rs` joins the two
//!    halves of a connection, with the handshake (`connection/open.rs`), what arrives (`connection/arrive.rs`) and the
//!    timers (`connection/ask.rs`).
//! 2. `sender.rs`: what acknowledgements tell, what is repeated, what goes out next; `sender/flight.rs`: what was sent.
//! 3. `receiver.rs`: reassembly (`receiver/held.rs`, `receiver/ready.rs`), the window, requests and acknowledgements.
//! 4. `cycle.rs`, `round_trip.rs`, `tick.rs`: which losses are certain, and time.
//! 5. `offer.rs`: which profile a connection is asked for in. `state.rs`: a connection as data, to go on elsewhere.

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

use units::Duration;

/// A connection's name between an [`Endpoint`] and its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectionId {
    /// Asked for here, under a number that the driver chose.
    Opened(u64),
    /// Asked for by the other end; the endpoint counts these from 0.
    Arrived(u64),
}

/// What can happen to an [`Endpoint`]. What is said of connections that are gone means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<C> {
    /// A packet arrives.
    Packet(Packet<C>),
    /// A packet arrived that could not be read.
    Damaged,
    /// The hop takes so many bytes now, in all: data wait until it does, the repairs first. A driver that never says
    /// this takes everything that the windows allow, as in the paper; a window that is larger than the hop needs then
    /// stands in a queue, and repairs behind it.
    Room(u64),
    /// What a round trip of the hop takes: what connections that begin wait for an answer until they have measured it
    /// themselves. Without it they wait as long as any hop may take.
    RoundTrip(Duration),
    /// Open a connection, under a number that no other open one has.
    Open {
        /// The number of its [`ConnectionId::Opened`].
        number: u64,
        /// Its ends, as applications know them.
        addresses: Addresses,
    },
    /// The connection that arrived can be made.
    Accept(ConnectionId),
    /// The connection that arrived cannot be made.
    Refuse(ConnectionId, Reason),
    /// More bytes are to be sent. What the send buffer has no room for waits as well.
    Write(ConnectionId, C),
    /// The application takes up to so many bytes: [`Output::Data`] brings them.
    Read(ConnectionId, u64),
    /// Nothing more will be written.
    Close(ConnectionId),
    /// End at once, with a reset.
    Abort(ConnectionId, Reason),
}

/// What an [`Endpoint`] asks of its driver, or tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<C> {
    /// Send a packet.
    Packet(Packet<C>),
    /// The other end asks for a connection: answer with [`Input::Accept`] or [`Input::Refuse`].
    Arrived(ConnectionId, Addresses),
    /// The connection is made.
    Connected(ConnectionId),
    /// So many bytes can be read now, in all.
    Readable(ConnectionId, u64),
    /// The answer to [`Input::Read`].
    Data(ConnectionId, C),
    /// So many bytes can be written now, in all.
    Writable(ConnectionId, u64),
    /// The other end has finished its stream, and all of it has arrived.
    Finished(ConnectionId),
    /// The connection was not made, or is broken. Its name may be used again.
    Reset(ConnectionId, Reason),
    /// Both streams have ended, and all of them was acknowledged and read. The name may be used again.
    Closed(ConnectionId),
}
