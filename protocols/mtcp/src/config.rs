//! How an endpoint behaves.

pub use machine::ConfigError;
use machine::check_rules;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

use crate::Profile;
use crate::packet::FURTHER_HOLES_MAX;

/// The largest buffer for what is to be sent, in bytes.
pub(crate) const SEND_BUFFER_MAX: Bytes = Bytes::mebi(1_024);
/// The most names that a table may hold, so that a free one is found by a few draws.
const CONNECTIONS_MAX: usize = 32_768;
/// The least packet: what is agreed on when the other end asks for less, in bytes.
pub(crate) const PACKET_MIN: u16 = 128;

/// How an [`Endpoint`](crate::Endpoint) behaves. What it says by default is the paper's (Haas and Warkhedi 2000).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The widest profile: what a connection offers, and the most that it agrees to.
    pub profile: Profile,
    /// Keep no timers once a connection is made: neither for retransmissions, nor for acknowledgements, nor for round
    /// trips. The other end, which must not be lean too, polls. Meant for mobile hosts (the paper's future work).
    pub lean: bool,
    /// The longest data packet, header included, in bytes. 1500 in the paper.
    pub packet: u16,
    /// What of a stream waits to be acknowledged, sent or not.
    pub send_buffer: Bytes,
    /// The receive buffer, which bounds the window. 16 KiB in the paper; at most 32,767 bytes count in its profile.
    pub receive_buffer: Bytes,
    /// Let the receive buffer begin small, and grow to `receive_buffer` as far as the hop and the application need it.
    /// In the wide profile only: the paper's window is static.
    pub auto_buffer: Option<AutoBuffer>,
    /// When arrivals are acknowledged.
    pub acknowledging: Acknowledging,
    /// How losses are seen and repaired.
    pub repair: Repair,
    /// Timers.
    pub timing: Timing,
    /// What bounds the tables, and how long they wait.
    pub limits: Limits,
}

/// A receive buffer that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoBuffer {
    /// What it begins with.
    pub start: Bytes,
    /// What the buffers of all connections may hold.
    pub total: Bytes,
}

/// What a timer goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The next tick, as in the paper.
    #[default]
    Ticks,
    /// What is measured, exactly: round trips, and the time between arrivals. It needs packets that are told apart, so
    /// that the paper's profile has ticks in any case.
    Measured,
}

impl Clock {
    /// What it comes to in `profile`.
    pub(crate) fn within(self, profile: Profile) -> Self {
        match profile {
            Profile::Paper => Self::Ticks,
            Profile::Wide => self,
        }
    }
}

/// When arrivals are acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acknowledging {
    /// The packets with data of which the last is acknowledged at once. 2, as in TCP.
    pub every: u32,
    /// Others wait: for the next tick, or for twice the time between the last two, of 5 to 50 ms.
    pub delayed: bool,
    /// Which of the two.
    pub clock: Clock,
    /// Where packets come fast, only one in so long is acknowledged at once, as long as what waits is little of the
    /// window: each costs both hosts what a packet with data costs. Zero for none such, as in the paper; the wide
    /// profile only, and not where the receiver is lean.
    pub spacing: Duration,
}

/// What the negative acknowledgement number tells.
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

/// How often the retransmission timer sends, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The whole burst that is missing at the acknowledgement number, or all that was sent where no burst is known.
    #[default]
    Burst,
    /// The oldest packet, and a poll: the answer tells the rest.
    Oldest,
}

/// How losses are seen and repaired. Each value can be turned off on its own, for ablations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Repair {
    /// Ask for what is missing at the first arrival out of order (RRQ). Otherwise the sender waits for the third
    /// duplicate acknowledgement, as TCP does.
    pub request: bool,
    /// What acknowledgements tell of what is missing.
    pub selective: Selective,
    /// Tell lost repairs by the retransmission cycle (RC and RCR). Otherwise only the timer repeats a repair.
    pub cycles: bool,
    /// Let an empty packet with a poll follow a repair that no other packet can follow, so that its loss is seen: a
    /// sender that always fills the window has none. Not in the paper.
    pub follow_repairs: bool,
    /// Answer a question that comes again with as many packets as were lost since the last one that was heard. Needs
    /// the wide profile, which tells them. Not in the paper.
    pub repeat_answers: bool,
    /// Ask for the next hole as soon as the one before it is filled, not at the next arrival out of order.
    pub next_hole: bool,
    /// Ask at once only when an arrival proves a loss that was not asked for: of new data, or of a repair. All other
    /// arrivals are acknowledged as if nothing were missing, and what is missing is told with that. Needs the wide
    /// profile, whose packets' numbers prove both. Not in the paper, where every arrival beyond a hole asks.
    pub news_only: bool,
    /// Holes that an acknowledgement tells of besides the first; the wide profile only, at most 7.
    pub further_holes: usize,
    /// What the retransmission timer sends.
    pub on_timeout: OnTimeout,
}

/// Timers. They go off at ticks, but for what goes by what is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// How often timers are looked at. 200 ms in the paper.
    pub tick: Duration,
    /// When the first tick comes; hosts do not tick together.
    pub phase: Duration,
    /// The time for an answer before there is a round trip to go by, also between attempts to open.
    pub initial_timeout: Duration,
    /// What a round trip of the hop takes, where the driver knows that ([`Input::RoundTrip`](crate::Input::RoundTrip)).
    #[serde(skip)]
    pub expected: Option<Duration>,
    /// The least retransmission timeout.
    pub minimum_timeout: Duration,
    /// What that timer goes by.
    pub clock: Clock,
    /// How long a connection may be silent before it is asked for.
    pub keep_alive: Duration,
    /// How soon a closed window, an end that does not answer, or a lean end is asked; twice as long after each
    /// question that brought nothing new.
    pub poll: Duration,
    /// The longest time between questions.
    pub poll_longest: Duration,
    /// How long the other end may leave questions unanswered. Long, so that connections survive an outage.
    pub give_up: Duration,
    /// How long a finished connection still answers what was sent again.
    pub linger: Duration,
}

/// What bounds the tables, and how long they wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Connections at one time, lingering ones included.
    pub connections: usize,
    /// Of those, the ones that are not made yet: so many that this end asked for, and so many that the other one did.
    /// So a flood of requests towards a listener leaves room for the listener's own.
    pub half_open: usize,
    /// Attempts to open a connection that go without any answer.
    pub attempts: u32,
    /// How long a connection may take to open, answers from third hosts included.
    pub opening: Duration,
}

impl Config {
    /// The paper's profile and values.
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

    /// The wide profile, with ticks of 5 ms, and buffers for four times what 100 Mbit/s over 80 ms have on the way.
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

    /// The receive buffer in `profile` with which a connection begins, in bytes.
    pub(crate) fn buffer(&self, profile: Profile) -> u32 {
        let start = self.auto_buffer.map_or(Bytes::MAX, |auto| auto.start);
        let buffer = self.receive_buffer.min(start);
        buffer.get().min(profile.buffer_max()) as u32
    }

    /// The largest that its receive buffer may become, in bytes.
    pub(crate) fn largest_buffer(&self, profile: Profile) -> u32 {
        match profile {
            Profile::Paper => self.buffer(profile),
            Profile::Wide => self.receive_buffer.get().min(profile.buffer_max()) as u32,
        }
    }

    /// By how many bits windows are shifted, if that does not follow from the buffer at the beginning; else 0.
    pub(crate) fn announced_shift(&self, profile: Profile) -> u8 {
        let shift = profile.window_shift(self.largest_buffer(profile));
        let expected = profile.window_shift(self.buffer(profile));
        if shift == expected { 0 } else { shift as u8 }
    }

    /// What receive buffers may grow by, in all.
    pub(crate) fn room_to_grow(&self) -> u64 {
        self.auto_buffer.map_or(0, |auto| {
            let begun = auto.start.get() * self.limits.connections as u64;
            auto.total.get().saturating_sub(begun)
        })
    }

    /// Whether every connection finds its first buffer.
    fn auto_buffer_fits(&self) -> bool {
        self.auto_buffer.is_none_or(|auto| {
            let all = auto.start.get().checked_mul(self.limits.connections as u64);
            let holds = auto.start.get() >= self.packet.into();
            holds && all.is_some_and(|all| all <= auto.total.get())
        })
    }

    /// Says what is wrong with the configuration, if anything is.
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

/// The paper's.
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
            keep_alive: Duration::from_secs(7_200),
            poll: Duration::from_millis(200),
            poll_longest: Duration::from_secs(5),
            give_up: Duration::from_secs(7 * 86_400),
            linger: Duration::from_secs(5),
        }
    }
}

impl Timing {
    /// The time for the first answer on a connection: two round trips of the hop where they are known, since the
    /// other end may wait with its answer.
    pub(crate) fn first_timeout(&self) -> Duration {
        self.expected.map_or(self.initial_timeout, |round_trip| {
            let timeout = (round_trip * 2 + self.tick).max(self.minimum_timeout);
            timeout.min(self.initial_timeout)
        })
    }

    /// The time for an answer to an attempt to open a connection, after so many: the other end may have to ask somebody
    /// else first, for longer than the hop takes.
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
