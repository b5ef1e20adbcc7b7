//! The configuration of an endpoint.

pub use machine::ConfigError;
use machine::check_rules;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use crate::Profile;
use crate::packet::FURTHER_HOLES_MAX;

/// Largest send buffer.
pub(crate) const SEND_BUFFER_MAX: Bytes = Bytes::mebi(1_024);
/// Largest number of connections in a table, so that a few draws find a free connection ID.
const CONNECTIONS_MAX: usize = 32_768;
/// Smallest limit on the length of a data packet, in bytes: used if the peer asks for less.
pub(crate) const PACKET_MIN: u16 = 128;

/// Configuration of an [`Endpoint`](crate::Endpoint). The defaults are the paper's (Haas and Warkhedi 2000).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Widest profile: the one that a connection offers, and the widest that it agrees to.
    pub profile: Profile,
    /// Keep no timers once a connection is established: neither for retransmissions, nor for acknowledgements, nor
    /// for round trips. The peer, which must not be lean too, polls. Meant for mobile hosts (the paper's future
    /// work).
    pub lean: bool,
    /// Maximum length of a data packet, header included, in bytes. 1500 in the paper.
    pub packet: u16,
    /// Largest number of bytes of a stream that wait to be acknowledged, sent or not.
    pub send_buffer: Bytes,
    /// Receive buffer, which bounds the window. 16 KiB in the paper; at most 32,767 bytes count in its profile.
    pub receive_buffer: Bytes,
    /// Start with a small receive buffer, which grows to `receive_buffer` as far as the hop and the application need
    /// it. In the wide profile only: the paper's window is static.
    pub auto_buffer: Option<AutoBuffer>,
    /// Rules for when arrivals are acknowledged.
    pub acknowledging: Acknowledging,
    /// Rules for how losses are detected and repaired.
    pub repair: Repair,
    /// Timers.
    pub timing: Timing,
    /// Limits of the tables and of waiting times.
    pub limits: Limits,
}

/// Settings of a receive buffer that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoBuffer {
    /// Initial size.
    pub start: Bytes,
    /// Largest sum of the receive buffers of all connections.
    pub total: Bytes,
}

/// Time source of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Expire at a tick, as in the paper.
    #[default]
    Ticks,
    /// Expire after an exact time derived from measurements: round trips, and the time between arrivals. It needs
    /// packets that have their own numbers, so the paper's profile always uses ticks.
    Measured,
}

impl Clock {
    /// Returns the clock to use in `profile`.
    pub(crate) fn within(self, profile: Profile) -> Self {
        match profile {
            Profile::Paper => Self::Ticks,
            Profile::Wide => self,
        }
    }
}

/// Rules for when arrivals are acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acknowledging {
    /// Number of packets with data after which one acknowledgement goes out at once. 2, as in TCP.
    pub every: u32,
    /// Delay the others: until the next tick, or for twice the time between the last two packets, within 5 to 50 ms.
    pub delayed: bool,
    /// Clock of that delay.
    pub clock: Clock,
    /// Least time between acknowledgements that go out at once when packets come fast, as long as the unacknowledged
    /// bytes are a small part of the window: each acknowledgement costs both hosts as much as a packet with data.
    /// Zero for no spacing, as in the paper; in the wide profile only, and not if the receiver is lean.
    pub spacing: Duration,
}

/// Meaning of the negative acknowledgement number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selective {
    /// The length in bytes of the burst that is missing at the acknowledgement number.
    #[default]
    Burst,
    /// Nothing.
    Cumulative,
    /// The number of the packet that caused the acknowledgement (SMART, Keshav and Morgan 1997).
    Smart,
}

/// Data that the retransmission timer sends again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The whole burst that is missing at the acknowledgement number, or all bytes in flight if no burst is known.
    #[default]
    Burst,
    /// The oldest packet, and a poll: the answer reports the rest.
    Oldest,
}

/// Rules for how losses are detected and repaired. Each can be turned off on its own, for ablations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Repair {
    /// Request missing data at the first arrival out of order (RRQ). Otherwise the sender waits for the third
    /// duplicate acknowledgement, as TCP does.
    pub request: bool,
    /// Selective part of acknowledgements: how they report missing data.
    pub selective: Selective,
    /// Detect lost repairs by the retransmission cycle (RC and RCR). Otherwise only the timer repeats a repair.
    pub cycles: bool,
    /// Send an empty packet with a poll after a repair that no other packet can follow, so that its loss is detected:
    /// a sender that always fills the window has no other packet. Not in the paper.
    pub follow_repairs: bool,
    /// Answer a repeated poll with as many packets as were lost since the last one that the peer received. Needs the
    /// wide profile, which reports that number. Not in the paper.
    pub repeat_answers: bool,
    /// Request the next hole as soon as the one before it is filled, not at the next arrival out of order.
    pub next_hole: bool,
    /// Request at once only if an arrival proves a loss that was not requested yet: of new data, or of a repair. All
    /// other arrivals are acknowledged as if nothing were missing, and those acknowledgements report the holes. Needs
    /// the wide profile, whose packet numbers prove both. Not in the paper, where every arrival beyond a hole causes
    /// a request.
    pub news_only: bool,
    /// Number of holes that an acknowledgement reports besides the first; in the wide profile only, at most 7.
    pub further_holes: usize,
    /// Data that the retransmission timer sends again.
    pub on_timeout: OnTimeout,
}

/// Timers. They expire at ticks, except those with [`Clock::Measured`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// Interval of the ticks at which timers are checked. 200 ms in the paper.
    pub tick: Duration,
    /// Time of the first tick; hosts do not tick together.
    pub phase: Duration,
    /// Retransmission timeout before a round trip is measured, also between attempts to open.
    pub initial_timeout: Duration,
    /// Expected round-trip time of the hop, if the driver knows it ([`Input::RoundTrip`](crate::Input::RoundTrip)).
    #[serde(skip)]
    pub expected: Option<Duration>,
    /// Minimum retransmission timeout.
    pub minimum_timeout: Duration,
    /// Clock of the retransmission timer.
    pub clock: Clock,
    /// With [`Clock::Measured`]: further attempts without an answer follow after a quarter of the silence so far, if
    /// that is longer than a round trip. For drivers whose hop takes nothing in a fade ([`Input::Room`]): the former
    /// attempts have then crossed it, or wait in it. Without this a fade cannot be distinguished from such a silence,
    /// and an attempt in each round trip finds its end soonest.
    ///
    /// [`Input::Room`]: crate::Input::Room
    pub back_off: bool,
    /// Time without packets from the peer after which the connection polls it.
    pub keep_alive: Duration,
    /// Interval of polls while the window is closed, the peer does not answer, or the peer is lean; doubles after
    /// each poll that brought nothing new.
    pub poll: Duration,
    /// Longest interval of polls.
    pub poll_longest: Duration,
    /// Time without any answer to polls after which the connection is reset. Long, so that connections survive an
    /// outage.
    pub give_up: Duration,
    /// Time that a finished connection still answers retransmissions.
    pub linger: Duration,
}

/// Limits of the tables and of waiting times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Number of connections at one time, lingering ones included.
    pub connections: usize,
    /// Number of connections that are not established yet: this many opened by this end, and this many by the peer.
    /// So a flood of requests towards a listener leaves room for the listener's own.
    pub half_open: usize,
    /// Number of attempts to open a connection without any answer.
    pub attempts: u32,
    /// Longest time for a connection to open, answers from third hosts included.
    pub opening: Duration,
}

impl Config {
    /// Returns the paper's profile and values.
    pub fn paper() -> Self {
        Self {
            profile: Profile::Paper,
            lean: false,
            packet: 1_500,
            send_buffer: Bytes::kibi(16),
            receive_buffer: Bytes::kibi(16),
            auto_buffer: None,
            acknowledging: Acknowledging::default(),
            repair: Repair::default(),
            timing: Timing::default(),
            limits: Limits::default(),
        }
    }

    /// Returns the wide profile, with ticks of 5 ms, and buffers of four bandwidth-delay products at 100 Mbit/s and
    /// 80 ms.
    pub fn wide() -> Self {
        Self {
            profile: Profile::Wide,
            send_buffer: Bytes::mebi(4),
            receive_buffer: Bytes::mebi(4),
            repair: Repair {
                follow_repairs: true,
                repeat_answers: true,
                next_hole: true,
                news_only: true,
                on_timeout: OnTimeout::Oldest,
                ..Repair::default()
            },
            acknowledging: Acknowledging {
                clock: Clock::Measured,
                spacing: Duration::from_millis(1),
                ..Acknowledging::default()
            },
            timing: Timing {
                tick: Duration::from_millis(5),
                minimum_timeout: Duration::from_millis(2),
                clock: Clock::Measured,
                ..Timing::default()
            },
            ..Self::paper()
        }
    }

    /// Returns the initial receive buffer of a connection in `profile`, in bytes.
    pub(crate) fn buffer(&self, profile: Profile) -> u32 {
        let start = self.auto_buffer.map_or(Bytes::MAX, |auto| auto.start);
        let buffer = self.receive_buffer.min(start);
        buffer.get().min(profile.buffer_max()) as u32
    }

    /// Returns the largest size of the receive buffer, in bytes.
    pub(crate) fn largest_buffer(&self, profile: Profile) -> u32 {
        match profile {
            Profile::Paper => self.buffer(profile),
            Profile::Wide => self.receive_buffer.get().min(profile.buffer_max()) as u32,
        }
    }

    /// Returns the window shift in bits if it does not follow from the initial buffer; else 0.
    pub(crate) fn announced_shift(&self, profile: Profile) -> u8 {
        let shift = profile.window_shift(self.largest_buffer(profile));
        let expected = profile.window_shift(self.buffer(profile));
        if shift == expected { 0 } else { shift as u8 }
    }

    /// Returns the bytes by which all receive buffers together may grow.
    pub(crate) fn room_to_grow(&self) -> u64 {
        self.auto_buffer.map_or(0, |auto| {
            let begun = auto.start.get() * self.limits.connections as u64;
            auto.total.get().saturating_sub(begun)
        })
    }

    /// Returns true if every connection finds its initial buffer.
    fn auto_buffer_fits(&self) -> bool {
        self.auto_buffer.is_none_or(|auto| {
            let all = auto.start.get().checked_mul(self.limits.connections as u64);
            let holds = auto.start.get() >= self.packet.into();
            holds && all.is_some_and(|all| all <= auto.total.get())
        })
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value is out of its limits, or two contradict each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (timing, limits) = (&self.timing, &self.limits);
        let rules = [
            (
                self.packet >= PACKET_MIN,
                "`packet` must be at least 128 bytes",
            ),
            (
                self.send_buffer.get() >= self.packet.into() && self.send_buffer <= SEND_BUFFER_MAX,
                "`send_buffer` must hold a packet, and be at most 1 GiB",
            ),
            (
                self.receive_buffer.get() >= self.packet.into()
                    && self.receive_buffer.get() <= Profile::Wide.buffer_max(),
                "`receive_buffer` must hold a packet, and be at most 32 MiB",
            ),
            (
                self.auto_buffer_fits(),
                "`auto_buffer.start` must hold a packet, and `auto_buffer.total` that for each of `limits.connections`",
            ),
            (
                self.acknowledging.every > 0,
                "`acknowledging.every` must be at least 1",
            ),
            (
                self.repair.further_holes <= FURTHER_HOLES_MAX,
                "`repair.further_holes` must be at most 7",
            ),
            (
                !timing.tick.is_zero(),
                "`timing.tick` must be more than 0 s",
            ),
            (
                !timing.keep_alive.is_zero() && !timing.poll.is_zero(),
                "`timing.keep_alive` and `timing.poll` must be more than 0 s",
            ),
            (
                timing.poll <= timing.poll_longest,
                "`timing.poll` must not exceed `timing.poll_longest`",
            ),
            (
                (1..=CONNECTIONS_MAX).contains(&limits.connections),
                "`limits.connections` must lie between 1 and 32768",
            ),
            (
                limits.half_open <= limits.connections,
                "`limits.half_open` must not exceed `limits.connections`",
            ),
            (limits.attempts > 0, "`limits.attempts` must be at least 1"),
            (
                !self.lean || self.repair.cycles,
                "`lean` needs `repair.cycles`: without it only a timer repeats a repair",
            ),
        ];
        check_rules("MTCP", &rules)
    }
}

/// The paper's profile and values.
impl Default for Config {
    fn default() -> Self {
        Self::paper()
    }
}

impl Default for AutoBuffer {
    fn default() -> Self {
        Self {
            start: Bytes::kibi(64),
            total: Bytes::mebi(512),
        }
    }
}

impl Default for Acknowledging {
    fn default() -> Self {
        Self {
            every: 2,
            delayed: true,
            clock: Clock::Ticks,
            spacing: Duration::ZERO,
        }
    }
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            request: true,
            selective: Selective::Burst,
            cycles: true,
            follow_repairs: false,
            repeat_answers: false,
            next_hole: false,
            news_only: false,
            further_holes: 3,
            on_timeout: OnTimeout::Burst,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(200),
            phase: Duration::ZERO,
            initial_timeout: Duration::from_secs(1),
            expected: None,
            minimum_timeout: Duration::from_millis(200),
            clock: Clock::Ticks,
            back_off: false,
            keep_alive: Duration::from_secs(7_200),
            poll: Duration::from_millis(200),
            poll_longest: Duration::from_secs(5),
            give_up: Duration::from_secs(7 * 86_400),
            linger: Duration::from_secs(5),
        }
    }
}

impl Timing {
    /// Returns the timeout for the first answer on a connection: two round trips of the hop if they are known, since
    /// the peer may delay its answer.
    pub(crate) fn first_timeout(&self) -> Duration {
        self.expected.map_or(self.initial_timeout, |round_trip| {
            let timeout = (round_trip * 2 + self.tick).max(self.minimum_timeout);
            timeout.min(self.initial_timeout)
        })
    }

    /// Returns the timeout for an answer to an attempt to open a connection, after `attempts` attempts: the peer may
    /// have to ask a third host first, which takes longer than the hop does.
    pub(crate) fn opening_timeout(&self, attempts: u32) -> Duration {
        let longer = 1 << attempts.min(16);
        (self.first_timeout() * longer).min(self.initial_timeout)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            half_open: 1_024,
            attempts: 5,
            opening: Duration::from_secs(180),
        }
    }
}
