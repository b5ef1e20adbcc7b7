//! A TCP endpoint whose loss recovery can be exchanged.
//!
//! The endpoint is the TCP of its time (Balakrishnan et al. 1997 measured BSD/OS 2.1, a descendant of 4.4BSD): a
//! three-way handshake, sliding windows, slow start and congestion avoidance, fast retransmission and recovery, timers
//! that fire at coarse ticks, delayed acknowledgements, persist, FIN. With other settings ([`Config::modern`]) it has
//! present-day timers. A [`Policy`] detects losses and reacts to them: Reno, `NewReno`, SMART, SACK, ELN and their
//! combinations, each a short file over one mechanism (`recovery/`).
//!
//! Streams are counted, not stored: the content of a stream is a function of the position
//! ([`wire::TcpSegment::content`]). [`Endpoint`] is pure, and chooses what to send when its driver takes outputs: if
//! the driver answers [`Output::Readable`] with [`Input::Read`] at once, the very next acknowledgement advertises the
//! window that this opened.
//!
//! # Reading order
//! 1. `endpoint.rs` joins the parts and is the machine; `arrival.rs` and `open.rs` process arriving segments
//!    (RFC 9293 §3.10.7).
//! 2. `sender.rs`: state of the sent stream; `sender/acknowledge.rs`: processing of acknowledgements;
//!    `sender/choose.rs`: choice of the next segment.
//! 3. `recovery.rs` and its files: the policies; `sender/scoreboard.rs`: segments known to have arrived.
//! 4. `receiver.rs`: reassembly, window and acknowledgements; `receiver/feedback.rs`: additional information in
//!    acknowledgements.
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

/// The two ends of a connection, as seen by one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Address of this end.
    pub local: SocketAddrV4,
    /// Address of the peer. Port zero on an end that listens: any peer.
    pub remote: SocketAddrV4,
    /// Sequence number of this end's SYN.
    pub initial_sequence: SeqNumber,
}

/// An input of an [`Endpoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A segment arrives.
    Segment(TcpSegment),
    /// Open the connection.
    Connect,
    /// Write this number of bytes. Data that exceed the send buffer wait outside, like those of a blocked writer.
    Write(u64),
    /// The application has read this number of bytes.
    Read(u64),
    /// Close the stream after the data written so far.
    Close,
    /// Abort the connection with a reset.
    Abort,
    /// These bytes of the peer's stream were lost on the air, as the receiver's link has reported. Needs
    /// [`Feedback::marks`].
    AirLoss(SeqRange),
}

/// An output of an [`Endpoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Send a segment.
    Segment(TcpSegment),
    /// The handshake is complete.
    Connected,
    /// New bytes have arrived in order; this number can be read now.
    Readable(u64),
    /// The send buffer has room for this number of bytes.
    Writable(u64),
    /// The peer has closed its stream, and all of it has arrived.
    Finished,
    /// The connection is gone: the peer reset it, or never answered.
    Reset,
}
