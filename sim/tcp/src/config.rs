//! How an endpoint behaves.

pub use machine::ConfigError;
use machine::check_rules;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use crate::Policy;

/// The largest buffer: what windows of the largest scale announce (RFC 7323 §2.3), in bytes.
const BUFFER_MAX: u64 = 1 << 30;

/// How an [`Endpoint`](crate::Endpoint) behaves. What the comparison (Balakrishnan et al. 1997) does not state is
/// 4.4BSD's, as its hosts ran a child of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The most data that a segment carries, in bytes; timestamps take their room from it. 1,400 in the comparison.
    pub maximum_segment_size: u16,
    /// Data sent and not acknowledged, at most, however wide the window.
    pub send_buffer: Bytes,
    /// Room for which a writer waits whose data do not fit the send buffer. BSD: 2,048 bytes, a cluster; 0 for
    /// whatever fits.
    pub send_low_water: Bytes,
    /// Data that the application has not taken, at most; the window announces what is left.
    pub receive_buffer: Bytes,
    /// Round both buffers up to whole segments, as 4.4BSD does when the segment size is agreed on (Wright, Stevens
    /// 1995, §27.5).
    pub whole_segments: bool,
    /// Offer window scaling (RFC 7323), without which windows end at 65,535 bytes.
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323): a round-trip sample with each acknowledgement.
    pub timestamps: bool,
    /// Send small segments at once (no Nagle algorithm).
    pub no_delay: bool,
    /// When to acknowledge.
    pub acknowledging: Acknowledging,
    /// What acknowledgements tell besides their number.
    pub feedback: Feedback,
    /// Timers.
    pub timing: Timing,
    /// The congestion window.
    pub congestion: Congestion,
    /// Losses.
    pub recovery: Recovery,
}

/// When the receiver acknowledges data that continue the stream; all else it acknowledges at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acknowledging {
    /// Wait for more data, or for something to send. The comparison does not say.
    pub delayed: bool,
    /// Segments that are acknowledged at once when so many wait. BSD: 2.
    pub every: u32,
    /// How long to wait. BSD: 200 ms.
    pub delay: Duration,
    /// The wait ends at the next multiple of `delay` (BSD's fast timer), which is half of it on average.
    pub aligned: bool,
}

/// What acknowledgements without data tell besides their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Feedback {
    /// Ranges of a selective acknowledgement (RFC 2018): 3 in the comparison, 0 for none, at most 4. Fewer
    /// where other options leave no room, none where the sender did not permit it.
    pub sack_blocks: u8,
    /// SMART: the segment that caused the acknowledgement.
    pub cause: bool,
    /// Losses on the air.
    pub marks: Marks,
}

/// How losses on the air are told (ELN), of which the receiver knows by [`Input::AirLoss`](crate::Input).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// Not at all.
    #[default]
    Off,
    /// Acknowledgements that ask for a segment that was lost on the air say so.
    Next,
    /// They name up to two ranges: the loss learned of last, and the oldest.
    Ranges,
}

/// Timers. They count ticks, and go off at ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// How often timers are looked at, and the unit of round-trip samples. BSD: 500 ms.
    pub tick: Duration,
    /// When the first tick comes; hosts do not tick together.
    pub phase: Duration,
    /// The retransmission timeout before there is a sample. BSD: 6 s.
    pub initial_timeout: Duration,
    /// The least retransmission timeout. BSD: 1 s, two ticks.
    pub minimum_timeout: Duration,
    /// The longest. BSD: 64 s.
    pub maximum_timeout: Duration,
    /// What the retransmission timeout adds to the smoothed round trip, at least. BSD has no such bound; Linux: 200 ms.
    pub minimum_margin: Duration,
    /// Timeouts in a row after which the connection is given up. BSD: 12.
    pub retries: u32,
    /// The least time between probes of a closed window. BSD: 5 s.
    pub minimum_persist: Duration,
    /// The longest. BSD: 60 s.
    pub maximum_persist: Duration,
    /// How long TIME-WAIT lasts. BSD: 60 s.
    pub time_wait: Duration,
}

/// The congestion window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Congestion {
    /// What a connection starts with, in segments. BSD: 1.
    pub initial_window: u32,
    /// In congestion avoidance, add an eighth of a segment with each acknowledgement, as 4.4BSD did.
    pub extra_eighth: bool,
    /// Start slowly after a pause longer than the retransmission timeout.
    pub restart_after_idle: bool,
    /// What makes the window.
    pub control: Control,
}

/// What makes the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// 4.4BSD's slow start and congestion avoidance, with one of the recoveries ([`Policy`]).
    #[default]
    Reno,
    /// CUBIC (RFC 9438). This and the next find losses by time (RACK-TLP, RFC 8985) whatever the policy, and need
    /// one that reads selective acknowledgements.
    Cubic,
    /// BBR version 1.
    Bbr,
}

/// What shows a loss, and what is done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recovery {
    /// The rules.
    pub policy: Policy,
    /// Duplicate acknowledgements that show a loss. 3.
    pub duplicates: u32,
    /// Duplicate acknowledgements with a mark that show a loss on the air, for ELN-RXMT and SACK-ELN. 1 in the
    /// comparison's text; its summary can be read as 2.
    pub marked_duplicates: u32,
    /// Do not take duplicates of what was sent before the last recovery or timeout for a new loss (RFC 2582's
    /// careful variant, which the hosts of the comparison did not have).
    pub careful: bool,
    /// Reno, ELN and ELN-RXMT: a recovery that had no more than `duplicates` duplicates ends without taking back what
    /// they added to the window, as in 4.4BSD, which compares with `>` there (Wright, Stevens 1995, §29.3).
    pub late_deflation: bool,
    /// ELN and ELN-RXMT: an acknowledgement of only a part of what was sent before the loss does not end the
    /// recovery (as with `NewReno`). The comparison leaves it open.
    pub hold_on_partial: bool,
}

impl Config {
    /// 4.4BSD: 500 ms ticks, delayed acknowledgements, 32 KiB buffers, no options.
    pub fn bsd() -> Self {
        Self {
            maximum_segment_size: 1_400,
            send_buffer: Bytes::kibi(32),
            send_low_water: Bytes::kibi(2),
            receive_buffer: Bytes::kibi(32),
            whole_segments: false,
            window_scaling: false,
            timestamps: false,
            no_delay: false,
            acknowledging: Acknowledging::default(),
            feedback: Feedback::default(),
            timing: Timing::default(),
            congestion: Congestion::default(),
            recovery: Recovery::default(),
        }
    }

    /// The timers and windows of a present-day kernel, with SACK.
    pub fn modern() -> Self {
        let mut config = Self {
            send_buffer: Bytes::mebi(1),
            send_low_water: Bytes::ZERO,
            receive_buffer: Bytes::mebi(1),
            window_scaling: true,
            timestamps: true,
            acknowledging: Acknowledging {
                delay: Duration::from_millis(40),
                aligned: false,
                ..Acknowledging::default()
            },
            timing: Timing {
                tick: Duration::from_millis(1),
                initial_timeout: Duration::from_secs(1),
                minimum_timeout: Duration::from_millis(200),
                maximum_timeout: Duration::from_secs(120),
                minimum_persist: Duration::from_millis(200),
                ..Timing::default()
            },
            congestion: Congestion {
                initial_window: 10,
                extra_eighth: false,
                ..Congestion::default()
            },
            ..Self::bsd()
        };
        config.recovery.careful = true;
        config.with_policy(Policy::SackNew)
    }

    /// A present-day kernel under this congestion control, with buffers that leave the window to it.
    pub fn kernel(control: Control) -> Self {
        let mut config = Self {
            maximum_segment_size: 1_460,
            send_buffer: Bytes::mebi(16),
            receive_buffer: Bytes::mebi(16),
            ..Self::modern()
        };
        config.timing.minimum_margin = Duration::from_millis(200);
        config.congestion.control = control;
        config
    }

    /// The same with another recovery from losses, and the feedback that it needs of the other end's endpoint if that
    /// is configured alike.
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.recovery.policy = policy;
        let (selective, marks) = match policy {
            Policy::Reno | Policy::NewReno | Policy::Smart => (false, Marks::Off),
            Policy::Sack | Policy::SackNew => (true, Marks::Off),
            Policy::Eln | Policy::ElnRxmt => (false, Marks::Next),
            Policy::SackEln => (true, Marks::Ranges),
        };
        self.feedback = Feedback {
            sack_blocks: if selective { 3 } else { 0 },
            cause: policy == Policy::Smart,
            marks,
        };
        self
    }

    /// What a buffer of `size` holds, in bytes.
    pub(crate) fn buffer(&self, size: Bytes) -> u64 {
        if self.whole_segments {
            size.get()
                .next_multiple_of(self.maximum_segment_size.into())
        } else {
            size.get()
        }
    }

    /// Says what is wrong with the configuration, if anything is.
    pub fn check(&self) -> Result<(), ConfigError> {
        let timing = &self.timing;
        let buffers = self.send_buffer.get().max(self.receive_buffer.get());
        let smallest = self.send_buffer.get().min(self.receive_buffer.get());
        let rules = [
            (
                (88..=wire::tcp::PAYLOAD_MAX).contains(&self.maximum_segment_size),
                "`maximum_segment_size` must lie between 88 and 65455",
            ),
            (
                buffers <= BUFFER_MAX,
                "`send_buffer` and `receive_buffer` must be at most 1 GiB",
            ),
            (
                smallest >= self.maximum_segment_size.into(),
                "`send_buffer` and `receive_buffer` must hold a segment of `maximum_segment_size`",
            ),
            (
                self.send_low_water <= self.send_buffer,
                "`send_low_water` must not exceed `send_buffer`",
            ),
            (
                self.acknowledging.every > 0,
                "`acknowledging.every` must be at least 1",
            ),
            (
                !self.acknowledging.delayed || !self.acknowledging.delay.is_zero(),
                "`acknowledging.delay` must be more than 0 s; `delayed = false` turns delays off",
            ),
            (
                self.feedback.sack_blocks <= 4,
                "`feedback.sack_blocks` must be at most 4",
            ),
            (
                !(self.feedback.cause && self.feedback.marks == Marks::Ranges),
                "`feedback.cause` excludes `feedback.marks = \"ranges\"`: both together are a snoop agent's request",
            ),
            (
                !timing.tick.is_zero(),
                "`timing.tick` must be more than 0 s",
            ),
            (
                timing.minimum_timeout <= timing.maximum_timeout,
                "`timing.minimum_timeout` must not exceed `timing.maximum_timeout`",
            ),
            (
                timing.minimum_persist <= timing.maximum_persist,
                "`timing.minimum_persist` must not exceed `timing.maximum_persist`",
            ),
            (
                (1..=1_000).contains(&self.congestion.initial_window),
                "`congestion.initial_window` must lie between 1 and 1000 segments",
            ),
            (
                self.recovery.duplicates > 0 && self.recovery.marked_duplicates > 0,
                "`recovery.duplicates` and `recovery.marked_duplicates` must be at least 1",
            ),
            (
                self.congestion.control == Control::Reno || self.recovery.policy.reads_sack(),
                "`congestion.control` other than \"reno\" needs a `recovery.policy` that reads SACK",
            ),
        ];
        check_rules("TCP", &rules)
    }
}

impl Acknowledging {
    /// The first point after `now` that lies a multiple of the delay after `phase`.
    pub(crate) fn next_multiple(&self, now: Instant, phase: Duration) -> Instant {
        let delay = self.delay.as_nanos().max(1);
        let phase = phase.as_nanos() % delay;
        let passed = (now.as_nanos() + delay - phase) / delay;
        Instant::from_nanos(passed.saturating_mul(delay).saturating_add(phase))
    }
}

/// 4.4BSD.
impl Default for Config {
    fn default() -> Self {
        Self::bsd()
    }
}

impl Default for Acknowledging {
    fn default() -> Self {
        Self {
            delayed: true,
            every: 2,
            delay: Duration::from_millis(200),
            aligned: true,
        }
    }
}

impl Default for Feedback {
    fn default() -> Self {
        Self {
            sack_blocks: 0,
            cause: false,
            marks: Marks::Off,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(500),
            phase: Duration::ZERO,
            initial_timeout: Duration::from_secs(6),
            minimum_timeout: Duration::from_secs(1),
            maximum_timeout: Duration::from_secs(64),
            minimum_margin: Duration::ZERO,
            retries: 12,
            minimum_persist: Duration::from_secs(5),
            maximum_persist: Duration::from_secs(60),
            time_wait: Duration::from_secs(60),
        }
    }
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            initial_window: 1,
            extra_eighth: true,
            restart_after_idle: true,
            control: Control::Reno,
        }
    }
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            policy: Policy::Reno,
            duplicates: 3,
            marked_duplicates: 1,
            careful: false,
            late_deflation: false,
            hold_on_partial: false,
        }
    }
}
