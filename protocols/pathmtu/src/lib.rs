//! The path MTU of one direction of a hop, found by probes (DPLPMTUD, RFC 8899).
//!
//! A [`PathMtu`] starts at a length that any path carries, and tries longer ones with packets without payload of
//! value. Each long packet is followed by a short one: if the short one arrives and the long one does not, either the
//! path dropped the length or the packet was lost, which three tries distinguish; if neither arrives, the try has no
//! result. So a fade is no proof, and a lost probe no congestion.
//!
//! A report by the network (ICMP) is a hint: it changes the next length to try, and is trusted only after a try
//! confirms it. A decrease of the path MTU is detected without it, by lost long packets while short ones sent between
//! them arrive.
//!
//! All lengths are those of IP packets, or of the payload of a link's frames, in bytes.

mod evidence;
mod ladder;
mod path;
mod round;

pub use path::PathMtu;
use units::{BitRate, Duration, Instant};

/// Minimum MTU of IPv6 (RFC 8200 §5); nearly any IPv4 path has it too.
pub const BASE: usize = 1_280;
/// Length that is used if not even [`BASE`] passes: every host accepts it in IPv4 (RFC 1122 §3.3.3).
pub const LEAST: usize = 576;

/// Range of lengths in which one path is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Length that is used before any is tried.
    pub start: usize,
    /// Longest length that is tried.
    pub bound: usize,
}

impl Config {
    /// Returns the configuration for an unknown path.
    pub fn up_to(bound: usize) -> Self {
        let start = BASE.min(bound);
        Self { start, bound }
    }

    /// Returns the configuration for a link with the MTU `bound`, which may contain a switch with the usual limit.
    pub fn of_link(bound: usize) -> Self {
        let start = ladder::USUAL.min(bound);
        Self { start, bound }
    }
}

/// Inputs of a [`PathMtu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// There are data to send that fill packets of the present length: a longer one would be useful.
    Wanted,
    /// Timing of the hop.
    RoundTrip {
        /// Smoothed round-trip time.
        smoothed: Duration,
        /// Time without an acknowledgement after which a packet is presumed lost.
        patience: Duration,
    },
    /// Rate of the hop: a probe must not occupy it for long.
    Rate(BitRate),
    /// A packet may be sent now.
    AirFree,
    /// The requested probe was sent under this number, with the short packet right behind it under the next number.
    Sent(u64),
    /// The packet with this number has arrived: a probe, or the short packet behind it.
    Arrived(u64),
    /// Result of another packet; results come in the order of transmission.
    Fate {
        /// Its length.
        length: usize,
        /// Time of its transmission.
        sent_at: Instant,
        /// True if it arrived.
        arrived: bool,
    },
    /// No recent packet is acknowledged, or nothing was sent yet: short packets shall test the path.
    Silence,
    /// A change or a report of the path.
    News(News),
}

/// A change or a report of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// The path has changed.
    Moved,
    /// The path may have changed.
    Uncertain,
    /// An ICMP message reports this maximum packet length; any host can forge one.
    Said(usize),
    /// This host itself cannot send packets of this length.
    Refused(usize),
}

/// Outputs of a [`PathMtu`] for its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Send a packet of this length without payload, and a short one right behind it; then report [`Input::Sent`].
    Probe(usize),
    /// Send a short packet that requests an acknowledgement, and report its [`Input::Fate`].
    Short,
}
