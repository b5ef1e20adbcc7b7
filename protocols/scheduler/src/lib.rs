//! A scheduler for several destinations that share the air, each with its own channel.
//!
//! This is the channel-state-dependent scheduler (CSDP) of Bhagwat, Bhattacharya, Krishna and Tripathi, "Enhancing
//! Throughput over Wireless LANs Using Channel State Dependent Packet Scheduling", INFOCOM 1996, and the disciplines
//! it is compared with. It has the paper's three parts:
//!
//! - *queues*: one for each destination. The sender keeps the frames; the scheduler gets the number of bytes that
//!   wait, and the arrival time of the first frame.
//! - the *link status monitor* ([`config::Monitor`]), which marks a destination while its channel is presumed bad;
//! - the *dispatcher*, which picks an unmarked destination by the discipline ([`config::Discipline`]), and a marked
//!   one only if no other has frames.
//!
//! The sender (`arq`, or a driver with a window of one frame) does retransmissions, repairs and giving up of frames;
//! the [`Scheduler`] gets the results as [`Input::Outcome`].

pub mod config;
mod discipline;
mod lines;
mod monitor;
mod scheduler;
mod status;

pub use config::Config;
pub use machine::ConfigError;
pub use scheduler::Scheduler;
pub use status::Status;
use units::{Bytes, Duration, Instant};

/// Number of a destination. The driver chooses it: from 0 on and without large gaps, since numbers index a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination(pub u16);

/// Inputs of a [`Scheduler`]. Inputs for a destination that has not joined are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A destination joins, or changes its weight. Disciplines that share give a destination a share in proportion to
    /// its weight; zero counts as one.
    Join {
        /// Destination.
        destination: Destination,
        /// Weight of its share.
        weight: u16,
    },
    /// A destination leaves.
    Leave(Destination),
    /// The queue of a destination has changed.
    Queue {
        /// Destination.
        destination: Destination,
        /// State of the queue; `None` if it is empty.
        waiting: Option<Waiting>,
    },
    /// The air is free. It stays so until the scheduler uses it by [`Output::Serve`] or [`Output::Probe`].
    AirFree,
    /// A frame or a probe was sent to a destination.
    Sent {
        /// Destination.
        destination: Destination,
        /// Airtime that it took.
        airtime: Duration,
    },
    /// A transmission has ended.
    Outcome {
        /// Destination.
        destination: Destination,
        /// Result of the transmission.
        outcome: Outcome,
    },
    /// A receiver reports the state of its channel, in the next acknowledgement or frame of its own that gets
    /// through; it comes before the [`Outcome`](Self::Outcome) of the acknowledged frames.
    Hint {
        /// Destination of the channel.
        destination: Destination,
        /// Reported state.
        hint: Hint,
    },
    /// The channel itself reports its state: only a simulated one can.
    Channel {
        /// Destination of the channel.
        destination: Destination,
        /// True if the channel is good now.
        is_good: bool,
    },
}

/// State of a destination's queue that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Number of bytes in the queue.
    pub bytes: Bytes,
    /// Arrival time of the frame at the head.
    pub oldest: Instant,
}

/// Result of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Delivered,
    /// No acknowledgement arrived.
    Missing {
        /// Cause of the loss, if it is known.
        cause: Cause,
        /// True if the frame was given up; otherwise it stands at the head of its queue again.
        given_up: bool,
    },
}

/// Cause of a failed transmission. A receiver can detect it: a checksum that failed, a signal that rose (another
/// transmission was added) or fell (Bhagwat et al. 1996, on the link status monitor).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cause {
    /// The cause is unknown.
    #[default]
    Unknown,
    /// Other hosts sent at the same time: this shows nothing about the channel.
    Collision,
    /// The channel faded.
    Fade,
}

/// Report about a channel that only a receiver can make: failed checksums, and the signal strength (Bhagwat et al.
/// 1996, on the link status monitor: "piggybacked on acks").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Number of unacknowledged frames that arrived damaged although the signal had not fallen: it had risen, since
    /// others sent too, or it was normal. These show no fade.
    Damaged(u32),
    /// The signal has fallen: frames sent now are lost.
    Fallen,
    /// The signal is at its normal strength.
    Risen {
        /// Time for which it was too weak before, if it was and this is the first report of it.
        faded: Option<Duration>,
    },
}

/// Outputs of a [`Scheduler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Send the first frame of this destination's queue, and report by [`Input::Sent`] and [`Input::Outcome`].
    Serve(Destination),
    /// Send this destination a small frame that it acknowledges, and report as for data.
    Probe(Destination),
    /// The destination's channel is presumed bad from now on.
    Marked(Destination),
    /// The destination's channel is no longer presumed bad.
    Unmarked(Destination),
}
