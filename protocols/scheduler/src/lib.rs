//! Whose frame gets the air next, when several destinations share it and each has a channel of its own.
//!
//! This is the channel-state-dependent scheduler (CSDP) of Bhagwat, Bhattacharya, Krishna and Tripathi, "Enhancing
//! Throughput over Wireless LANs Using Channel State Dependent Packet Scheduling", INFOCOM 1996, and what it is
//! compared with. It has the paper's three parts:
//!
//! - *lines*: one for each destination. The frames themselves stand with whoever sends them; the scheduler is told how
//!   much waits and since when.
//! - the *link status monitor* ([`config::Monitor`]), which marks a destination while its channel is taken for bad;
//! - the *dispatcher*, which picks an unmarked destination by the discipline ([`config::Discipline`]), and a marked one
//!   where only those have something waiting.
//!
//! Tries, repairs and frames that are given up belong to the sender (`arq`, or a driver with a window of one frame);
//! the [`Scheduler`] hears of them as [`Input::Outcome`].

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

/// A destination's number. The driver chooses it: from 0 on and without large gaps, since numbers index a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination(pub u16);

/// What the world tells a [`Scheduler`]. What is said of a destination that has not joined changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A destination is there. With the weight of another one's double, disciplines that share give it double; none
    /// is taken for one. One that is there already gets the new weight.
    Join {
        /// Which one.
        destination: Destination,
        /// Its weight.
        weight: u16,
    },
    /// It is there no longer.
    Leave(Destination),
    /// What waits for it has changed.
    Queue {
        /// Which one.
        destination: Destination,
        /// What waits now; `None` when nothing does.
        waiting: Option<Waiting>,
    },
    /// The air is free. It stays so until the scheduler uses it by [`Output::Serve`] or [`Output::Probe`].
    AirFree,
    /// Something was sent to a destination.
    Sent {
        /// Which one.
        destination: Destination,
        /// For how long the air was used for it.
        airtime: Duration,
    },
    /// A transmission ended.
    Outcome {
        /// To which destination.
        destination: Destination,
        /// What became of it.
        outcome: Outcome,
    },
    /// A receiver tells of its channel, with the next acknowledgement or frame of its own that gets through; said
    /// before the [`Outcome`](Self::Outcome) of what that acknowledges.
    Hint {
        /// Whose channel.
        destination: Destination,
        /// What it tells.
        hint: Hint,
    },
    /// The channel itself tells its state: only a simulated one can.
    Channel {
        /// Whose channel.
        destination: Destination,
        /// Whether it is good now.
        is_good: bool,
    },
}

/// What waits in a destination's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// How much, in bytes.
    pub bytes: Bytes,
    /// When the frame at the head came.
    pub oldest: Instant,
}

/// What became of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Delivered,
    /// No acknowledgement came.
    Missing {
        /// Why, where that is known.
        cause: Cause,
        /// Whether the frame was given up; otherwise it stands at the head of its line again.
        given_up: bool,
    },
}

/// Why a transmission failed. Receivers can tell: a checksum that failed, a signal that rose (somebody else's joined
/// it) or fell (Bhagwat et al. 1996, on the link status monitor).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cause {
    /// Nobody knows.
    #[default]
    Unknown,
    /// Others sent at the same time: that says nothing of the channel.
    Collision,
    /// The channel faded.
    Fade,
}

/// What only a receiver can know of a channel: that a checksum failed, and how strong the signal is (Bhagwat et al.
/// 1996, on the link status monitor: "piggybacked on acks").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// So many frames whose acknowledgements are missing came damaged though the signal had not fallen: it had risen,
    /// since others sent too, or it was as always. That says nothing of fades.
    Damaged(u32),
    /// The signal has fallen: what is sent now is lost.
    Fallen,
    /// The signal is what it should be.
    Risen {
        /// For how long it had been too weak before, if it had and this was not told yet.
        faded: Option<Duration>,
    },
}

/// What a [`Scheduler`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Send what stands first in this destination's line, and tell by [`Input::Sent`] and [`Input::Outcome`].
    Serve(Destination),
    /// Send this destination a small frame that it acknowledges, and tell as for data.
    Probe(Destination),
    /// The destination's channel is taken for bad from now on.
    Marked(Destination),
    /// Its channel is no longer taken for bad.
    Unmarked(Destination),
}
