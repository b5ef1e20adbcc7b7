//! The configuration of an agent.

pub use machine::ConfigError;
use machine::check_rules;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

/// Configuration of an [`Agent`](crate::Agent). The paper is Balakrishnan et al., "A Comparison of Mechanisms for
/// Improving TCP Performance over Wireless Links", 1997; details that it leaves open come from the protocol's own
/// papers (Balakrishnan et al., Mobicom 1995 and WINET 1995), as each field says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Repair losses from the cache. Off for an agent that only marks losses (ELN).
    pub repair: bool,
    /// Shield the sender: hold back duplicate acknowledgements of segments that the agent repairs, and answer
    /// segments that the mobile host already has (LL-TCP-AWARE, LL-SMART-TCP-AWARE).
    pub tcp_aware: bool,
    /// Repair selectively, by the segments that acknowledgements report as arrived: SMART's cause, or the SACK blocks
    /// of a kernel's TCP (LL-SMART, LL-SMART-TCP-AWARE).
    pub smart: bool,
    /// Number of duplicate acknowledgements that show a loss without selective information. Two in the comparison
    /// (its section on burst errors), one in the earlier papers.
    pub duplicates: u32,
    /// Request data of the mobile host that were lost on the air from the mobile host. It needs a
    /// [`Mobile`](crate::Mobile).
    pub negative_acknowledgments: bool,
    /// Wait for segments that were overtaken, on a hop that is seen to reorder; the paper's hop keeps order.
    pub expects_reordering: bool,
    /// Notification of senders about losses on the air.
    pub explicit_loss: ExplicitLoss,
    /// Timers of repairs.
    pub timing: Timing,
    /// Limits of memory.
    pub limits: Limits,
}

/// Content of the notification about losses on the air (explicit loss notification, Balakrishnan 1997).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplicitLoss {
    /// No notification.
    #[default]
    Off,
    /// Acknowledgements that request a segment lost on the air are marked.
    Next,
    /// Acknowledgements list up to three ranges that were lost on the air (for SACK with ELN).
    Ranges,
}

/// Timers of repairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// Least time between a repair and the next. 200 ms (Balakrishnan 1997, for LL and LL-SMART); 40 ms in the
    /// earlier papers.
    pub minimum_timeout: Duration,
    /// Time without data or acknowledgements after which the oldest segment is repeated. 200 ms (WINET 1995).
    pub persist: Duration,
    /// Interval of timer ticks; zero for exact timers.
    pub tick: Duration,
    /// Round-trip time of the hop before it is measured. 100 ms (the group's simulator).
    pub initial_round_trip: Duration,
    /// Weight of a new sample in the smoothed round-trip time, in thousandths. 0.25 (WINET 1995).
    pub gain_per_mille: u64,
}

/// Limits of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Number of connections. At the limit, a new connection replaces one that was idle for a while, or else passes
    /// untouched.
    pub flows: usize,
    /// Cached bytes of one connection. Windows reach 64 KB (Mobicom 1995); headers come on top.
    pub flow_bytes: Bytes,
    /// Cached bytes of a connection above which only segments that fill gaps are cached (Mobicom 1995).
    pub high_water: Bytes,
    /// Cached bytes of all connections.
    pub bytes: Bytes,
    /// Idle time after which a connection is removed.
    pub idle: Duration,
}

impl Config {
    /// Returns LL: local repair by acknowledgements and timeouts; the sender sees all duplicates.
    pub fn link_layer() -> Self {
        Self {
            repair: true,
            tcp_aware: false,
            smart: false,
            duplicates: 2,
            negative_acknowledgments: false,
            expects_reordering: false,
            explicit_loss: ExplicitLoss::Off,
            timing: Timing::default(),
            limits: Limits::default(),
        }
    }

    /// Returns LL-TCP-AWARE: the snoop protocol.
    pub fn tcp_aware() -> Self {
        Self {
            tcp_aware: true,
            ..Self::link_layer()
        }
    }

    /// Returns LL-SMART: local repair by selective acknowledgements; the sender sees all duplicates.
    pub fn smart() -> Self {
        Self {
            smart: true,
            ..Self::link_layer()
        }
    }

    /// Returns LL-SMART-TCP-AWARE: snoop with selective acknowledgements, the paper's best.
    pub fn smart_tcp_aware() -> Self {
        Self {
            smart: true,
            tcp_aware: true,
            ..Self::link_layer()
        }
    }

    /// Returns a configuration that marks losses on the air and repairs none (E2E-ELN with the marks made at the base
    /// station).
    pub fn explicit_loss(explicit_loss: ExplicitLoss) -> Self {
        Self {
            repair: false,
            explicit_loss,
            ..Self::link_layer()
        }
    }

    /// Returns the gateway's configuration: everything on, and memory for the windows of today's kernels.
    pub fn live() -> Self {
        Self {
            negative_acknowledgments: true,
            expects_reordering: true,
            explicit_loss: ExplicitLoss::Next,
            timing: Timing {
                minimum_timeout: Duration::from_millis(40),
                ..Timing::default()
            },
            limits: Limits {
                flows: 1_024,
                flow_bytes: Bytes::mebi(8),
                high_water: Bytes::mebi(6),
                bytes: Bytes::mebi(32),
                ..Limits::default()
            },
            ..Self::smart_tcp_aware()
        }
    }
}

impl Config {
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value is out of its limits, or two contradict each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (timing, limits) = (&self.timing, &self.limits);
        let rules = [
            (self.duplicates > 0, "`duplicates` must be at least 1"),
            (
                (1..=1_000).contains(&timing.gain_per_mille),
                "`timing.gain_per_mille` must lie between 1 and 1000",
            ),
            (
                !timing.minimum_timeout.is_zero() && !timing.persist.is_zero(),
                "`timing.minimum_timeout` and `timing.persist` must be more than 0 s",
            ),
            (limits.flows > 0, "`limits.flows` must be at least 1"),
            (
                limits.high_water <= limits.flow_bytes,
                "`limits.high_water` must not exceed `limits.flow_bytes`",
            ),
        ];
        check_rules("snoop", &rules)
    }
}

/// Returns the configuration of the snoop protocol.
impl Default for Config {
    fn default() -> Self {
        Self::tcp_aware()
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            minimum_timeout: Duration::from_millis(200),
            persist: Duration::from_millis(200),
            tick: Duration::ZERO,
            initial_round_trip: Duration::from_millis(100),
            gain_per_mille: 250,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flows: 256,
            flow_bytes: Bytes::kibi(80),
            high_water: Bytes::kibi(72),
            bytes: Bytes::mebi(16),
            idle: Duration::from_secs(300),
        }
    }
}

impl Timing {
    /// Returns the first tick at or after `now + span`.
    pub(crate) fn after(&self, now: Instant, span: Duration) -> Instant {
        let due = (now + span).as_nanos();
        let tick = self.tick.as_nanos().max(1);
        Instant::from_nanos(due.checked_next_multiple_of(tick).unwrap_or(u64::MAX))
    }
}
