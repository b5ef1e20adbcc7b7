//! The path MTU of one direction of a hop, found by probes (DPLPMTUD, RFC 8899).
//!
//! A [`PathMtu`] starts at a length that any path carries, and tries longer ones with packets that carry nothing of
//! worth. Each long packet is followed by a short one: if that arrives and the long one does not, the length is what
//! the path refused, or a loss, which three tries tell apart; if neither does, nothing was learned. So a fade is no
//! proof, and a lost probe no congestion.
//!
//! What the network says about lengths (ICMP) is a hint: it changes what is tried next, and is believed when the try
//! has shown it. That a path has come to carry less is seen without it, by long packets that are lost while short ones
//! sent between them arrive.
//!
//! All lengths are those of IP packets, or of the payload of a link's frames, in bytes.

mod evidence;
mod ladder;
mod path;
mod round;

pub use path::PathMtu;
use units::{BitRate, Duration, Instant};

/// What any path of IPv6 carries (RFC 8200 §5), and nearly any of IPv4.
pub const BASE: usize = 1_280;
/// What is used where not even [`BASE`] passes: what any host takes in IPv4 (RFC 1122 §3.3.3).
pub const LEAST: usize = 576;

/// Between which lengths one path is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The length that is used before any is tried.
    pub start: usize,
    /// The longest that is tried.
    pub bound: usize,
}

impl Config {
    /// For a path of which nothing is known.
    pub fn up_to(bound: usize) -> Self {
        let start = BASE.min(bound);
        Self { start, bound }
    }

    /// For a link whose own MTU is `bound`, with perhaps a switch in it that carries no more than is usual.
    pub fn of_link(bound: usize) -> Self {
        let start = ladder::USUAL.min(bound);
        Self { start, bound }
    }
}

/// What can happen to a [`PathMtu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// There is something to send that fills packets of the present length: a longer one would be of use.
    Wanted,
    /// How long a round trip takes, and how long to wait for an acknowledgement before a packet is presumed lost.
    RoundTrip {
        /// The smoothed round trip.
        smoothed: Duration,
        /// What is waited.
        patience: Duration,
    },
    /// What the hop carries: a probe must not hold it up for long.
    Rate(BitRate),
    /// A packet may leave now.
    AirFree,
    /// The probe that was asked for has left, with the short packet right behind it: this number and the next.
    Sent(u64),
    /// A packet with this number, of a probe or the short packet behind it, has arrived.
    Arrived(u64),
    /// What became of another packet; told in the order in which they were sent.
    Fate {
        /// Its length.
        length: usize,
        /// When it left.
        sent_at: Instant,
        /// Whether it arrived.
        arrived: bool,
    },
    /// Nothing that was sent of late is acknowledged, or nothing was sent yet: short packets are to find out more.
    Silence,
    /// News of the path.
    News(News),
}

/// News of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It is another one.
    Moved,
    /// It may be another one.
    Uncertain,
    /// Somebody says that it carries no longer packets than this: an ICMP message, which anybody can forge.
    Said(usize),
    /// This host itself does not send packets of so many bytes.
    Refused(usize),
}

/// What a [`PathMtu`] asks of its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Send a packet of this length that carries nothing, and a short one right behind it; then say
    /// [`Input::Sent`].
    Probe(usize),
    /// Send a short packet that asks for an acknowledgement, and tell its [`Input::Fate`].
    Short,
}
