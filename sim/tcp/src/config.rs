//! The configuration of an endpoint.

pub use machine::ConfigError;
use machine::check_rules;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use crate::Policy;

/// Size of the largest buffer, in bytes: the largest window that can be advertised with the largest scale (RFC 7323
/// §2.3).
const BUFFER_MAX: u64 = 1 << 30;

/// Configuration of an [`Endpoint`](crate::Endpoint). Values that the comparison (Balakrishnan et al. 1997) does not
/// state are those of 4.4BSD, as its hosts ran a descendant of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Largest payload of a segment, in bytes; timestamps reduce it. 1,400 in the comparison.
    pub maximum_segment_size: u16,
    /// Limit of data sent and not acknowledged, whatever the window.
    pub send_buffer: Bytes,
    /// Free space that a blocked writer waits for if its data do not fit the send buffer. BSD: 2,048 bytes, a cluster;
    /// 0 for any space.
    pub send_low_water: Bytes,
    /// Limit of data that the application has not read; the window advertises the rest of it.
    pub receive_buffer: Bytes,
    /// Round both buffers up to whole segments, as 4.4BSD does when the segment size is negotiated (Wright, Stevens
    /// 1995, §27.5).
    pub whole_segments: bool,
    /// Offer window scaling (RFC 7323), without which windows are at most 65,535 bytes.
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323): a round-trip sample with each acknowledgement.
    pub timestamps: bool,
    /// Send small segments at once (no Nagle algorithm).
    pub no_delay: bool,
    /// Rules for acknowledgements of in-order data.
    pub acknowledging: Acknowledging,
    /// Additional information in acknowledgements.
    pub feedback: Feedback,
    /// Timers.
    pub timing: Timing,
    /// Settings of the congestion window.
    pub congestion: Congestion,
    /// Settings of loss recovery.
    pub recovery: Recovery,
}

/// Rules for acknowledgements of data that continue the stream; all other segments are acknowledged at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acknowledging {
    /// Delay acknowledgements until more data arrive or there is something to send. The comparison leaves this open.
    pub delayed: bool,
    /// Number of unacknowledged segments that causes an acknowledgement at once. BSD: 2.
    pub every: u32,
    /// Longest delay of an acknowledgement. BSD: 200 ms.
    pub delay: Duration,
    /// The delay ends at the next multiple of `delay` (BSD's fast timer), which is half of it on average.
    pub aligned: bool,
}

/// Information that acknowledgements without data carry besides their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Feedback {
    /// Ranges of a selective acknowledgement (RFC 2018): 3 in the comparison, 0 for none, at most 4. Fewer if other
    /// options leave no room, none if the sender did not permit it.
    pub sack_blocks: u8,
    /// SMART: name the segment that caused the acknowledgement.
    pub cause: bool,
    /// Notification of losses on the air.
    pub marks: Marks,
}

/// Notification of losses on the air (ELN), which the receiver learns from [`Input::AirLoss`](crate::Input).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// No notification.
    #[default]
    Off,
    /// An acknowledgement carries a mark if the segment that it expects next was lost on the air.
    Next,
    /// An acknowledgement names up to two ranges: the loss reported last, and the oldest.
    Ranges,
}

/// Timers. They count ticks, and fire at ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// Interval at which timers are checked, and unit of round-trip samples. BSD: 500 ms.
    pub tick: Duration,
    /// Time of the first tick; hosts do not tick at the same time.
    pub phase: Duration,
    /// Retransmission timeout before there is a sample. BSD: 6 s.
    pub initial_timeout: Duration,
    /// Smallest retransmission timeout. BSD: 1 s, two ticks.
    pub minimum_timeout: Duration,
    /// Largest retransmission timeout. BSD: 64 s.
    pub maximum_timeout: Duration,
    /// Smallest margin of the retransmission timeout over the smoothed round trip. BSD has no such bound; Linux: 200
    /// ms.
    pub minimum_margin: Duration,
    /// Number of consecutive timeouts after which the connection is aborted. BSD: 12.
    pub retries: u32,
    /// Smallest time between probes of a closed window. BSD: 5 s.
    pub minimum_persist: Duration,
    /// Largest time between probes of a closed window. BSD: 60 s.
    pub maximum_persist: Duration,
    /// Length of TIME-WAIT. BSD: 60 s.
    pub time_wait: Duration,
}

/// Settings of the congestion window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Congestion {
    /// Initial window, in segments. BSD: 1.
    pub initial_window: u32,
    /// In congestion avoidance, add an eighth of a segment with each acknowledgement, as in 4.4BSD.
    pub extra_eighth: bool,
    /// Use slow start after a pause longer than the retransmission timeout.
    pub restart_after_idle: bool,
    /// Congestion control algorithm.
    pub control: Control,
}

/// Congestion control algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// 4.4BSD's slow start and congestion avoidance, with one of the recoveries ([`Policy`]).
    #[default]
    Reno,
    /// CUBIC (RFC 9438). This and the next detect losses by time (RACK-TLP, RFC 8985) whatever the policy, and need a
    /// policy that reads selective acknowledgements.
    Cubic,
    /// BBR version 1.
    Bbr,
}

/// Settings of loss detection and recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recovery {
    /// Loss recovery algorithm.
    pub policy: Policy,
    /// Number of duplicate acknowledgements that show a loss. 3.
    pub duplicates: u32,
    /// Number of duplicate acknowledgements with a mark that show a loss on the air, for ELN-RXMT and SACK-ELN. 1 in
    /// the comparison's text; its summary can be read as 2.
    pub marked_duplicates: u32,
    /// Do not take duplicates of segments that were sent before the last recovery or timeout for a new loss (the
    /// careful variant of RFC 2582, which the hosts of the comparison did not have).
    pub careful: bool,
    /// Reno, ELN and ELN-RXMT: a recovery with no more than `duplicates` duplicates ends without a removal of what they
    /// added to the window, as in 4.4BSD, which compares with `>` there (Wright, Stevens 1995, §29.3).
    pub late_deflation: bool,
    /// ELN and ELN-RXMT: a partial acknowledgement, of only a part of what was sent before the loss, does not end the
    /// recovery (as with `NewReno`). The comparison leaves it open.
    pub hold_on_partial: bool,
}

impl Config {
    /// Returns 4.4BSD's configuration: 500 ms ticks, delayed acknowledgements, 32 KiB buffers, no options.
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

    /// Returns a configuration with the timers and windows of a present-day kernel, with SACK.
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

    /// Returns the configuration of a present-day kernel with this congestion control, with buffers large enough not to
    /// limit its window.
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

    /// Returns this configuration with another recovery from losses, and with the feedback that it needs from the peer,
    /// if the peer has the same configuration.
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

    /// Returns the size of a buffer of `size`, in bytes.
    pub(crate) fn buffer(&self, size: Bytes) -> u64 {
        if self.whole_segments {
            size.get()
                .next_multiple_of(self.maximum_segment_size.into())
        } else {
            size.get()
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value makes no sense; the error names the first one.
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
    /// Returns the first time after `now` that lies a multiple of the delay after `phase`.
    pub(crate) fn next_multiple(&self, now: Instant, phase: Duration) -> Instant {
        let delay = self.delay.as_nanos().max(1);
        let phase = phase.as_nanos() % delay;
        let passed = (now.as_nanos() + delay - phase) / delay;
        Instant::from_nanos(passed.saturating_mul(delay).saturating_add(phase))
    }
}

/// Returns 4.4BSD's configuration.
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
