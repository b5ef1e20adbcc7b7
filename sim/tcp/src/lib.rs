//! A TCP endpoint whose loss recovery can be exchanged.
//!
//! The endpoint is the TCP of its time (Balakrishnan et al. 1997 measured BSD/OS 2.1, a child of 4.4BSD): a
//! three-way handshake, sliding windows, slow start and congestion avoidance, fast retransmission and recovery,
//! timers that go off at coarse ticks, delayed acknowledgements, persist, FIN. With other settings
//! ([`Config::modern`]) it has today's timers. How it learns of losses and what it then does is a
//! [`Policy`]: Reno, `NewReno`, SMART, SACK, ELN and what follows from them, each a short file over one
//! mechanism (`recovery/`).
//!
//! Streams are counted, not stored: the content of a stream is a function of the position
//! ([`wire::TcpSegment::content`]). [`Endpoint`] is pure, and everything it sends is decided when its driver asks:
//! a driver that answers [`Output::Readable`] with [`Input::Read`] at once sees the window that it opened in
//! the very next acknowledgement.
//!
//! # How to read it
//! 1. `endpoint.rs` joins the parts and is the machine; `arrival.rs` and `open.rs` take segments in (RFC 9293
//!    §3.10.7).
//! 2. `sender.rs`: what was sent and acknowledged; `sender/acknowledge.rs`: what an acknowledgement tells;
//!    `sender/choose.rs`: what goes out next.
//! 3. `recovery.rs` and its files: the policies; `sender/scoreboard.rs`: what is known to have arrived.
//! 4. `receiver.rs`: reassembly, the window, when to acknowledge; `receiver/feedback.rs`: what
//!    acknowledgements tell besides their number.
//! 5. `clock.rs`, `round_trip.rs`, `retransmission.rs`: time.

mod arrival;
mod clock;
mod config;
mod congestion;
mod control;
mod counters;
mod endpoint;
mod numbers;
mod open;
mod receiver;
mod recovery;
mod retransmission;
mod round_trip;
mod sender;
mod span;
mod state;

pub use config::{
    Acknowledging, Config, ConfigError, Congestion, Control, Feedback, Marks, Recovery, Timing,
};
pub use counters::{Counters, Received, Recovered, Sent};
pub use endpoint::Endpoint;
pub use recovery::Policy;
pub use state::State;

use std::net::SocketAddrV4;

use units::SeqNumber;
use wire::TcpSegment;
use wire::tcp::SeqRange;

/// The two ends of a connection, as one of them sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// This end.
    pub local: SocketAddrV4,
    /// The other end. Port zero on an end that listens: whoever comes first.
    pub remote: SocketAddrV4,
    /// The sequence number of this end's SYN.
    pub initial_sequence: SeqNumber,
}

/// What can happen to an [`Endpoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A segment arrives.
    Segment(TcpSegment),
    /// Open the connection.
    Connect,
    /// So many bytes more are to be sent. What the send buffer has no room for waits outside, as a blocked
    /// writer's data do.
    Write(u64),
    /// The application took so many bytes.
    Read(u64),
    /// Nothing more will be written.
    Close,
    /// End at once, with a reset.
    Abort,
    /// These bytes of the other end's stream were lost on the air: the receiver was told by its link. Needs
    /// [`Feedback::marks`].
    AirLoss(SeqRange),
}

/// What an [`Endpoint`] asks of its driver, or tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Send a segment.
    Segment(TcpSegment),
    /// The handshake is complete.
    Connected,
    /// New bytes have arrived in order; so many can be read now.
    Readable(u64),
    /// The send buffer has room for so many bytes more.
    Writable(u64),
    /// The other end has finished its stream, and all of it has arrived.
    Finished,
    /// The connection is gone: the other end reset it, or never answered.
    Reset,
}
