//! What an agent does, and how much of it.

pub use machine::ConfigError;
use machine::check_rules;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

/// How an [`Agent`](crate::Agent) behaves. The paper is Balakrishnan et al., "A Comparison of
/// Mechanisms for Improving TCP Performance over Wireless Links", 1997; what it leaves open comes
/// from the protocol's own papers (Balakrishnan et al., Mobicom 1995 and WINET 1995), as each field says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Repair losses from the cache. Off for an agent that only marks losses (ELN).
    pub repair: bool,
    /// Shield the sender: hold back duplicate acknowledgements of what the agent repairs, and answer
    /// what has arrived already (LL-TCP-AWARE, LL-SMART-TCP-AWARE).
    pub tcp_aware: bool,
    /// Repair selectively, by what acknowledgements say of the segments that arrived: SMART's cause, or
    /// the SACK blocks of a kernel's TCP (LL-SMART, LL-SMART-TCP-AWARE).
    pub smart: bool,
    /// Duplicate acknowledgements that show a loss where nothing says which segments arrived. Two in
    /// the comparison (its section on burst errors), one in the earlier papers.
    pub duplicates: u32,
    /// Ask the mobile host for data of its own that were lost on the air. It needs a
    /// [`Mobile`](crate::Mobile).
    pub negative_acknowledgments: bool,
    /// How to tell senders of losses on the air.
    pub explicit_loss: ExplicitLoss,
    /// When to repeat.
    pub timing: Timing,
    /// How much to remember.
    pub limits: Limits,
}

/// What an agent tells senders of losses on the air (explicit loss notification, Balakrishnan 1997).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplicitLoss {
    /// Nothing.
    #[default]
    Off,
    /// Acknowledgements that ask for a segment that was lost on the air say so.
    Next,
    /// They name up to three ranges that were lost on the air (for SACK with ELN).
    Ranges,
}

/// When an agent repeats what may be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// The least time between a repair and the next. 200 ms (Balakrishnan 1997, for LL and LL-SMART); the
    /// earlier papers say 40 ms.
    pub minimum_timeout: Duration,
    /// Without data or acknowledgements for so long, the oldest segment is repeated. 200 ms (WINET 1995).
    pub persist: Duration,
    /// Timers go off at multiples of this; zero for exact ones.
    pub tick: Duration,
    /// The round trip of the hop before it has been measured. 100 ms (the group's simulator).
    pub initial_round_trip: Duration,
    /// The weight of a new sample in the smoothed round trip, in thousandths. 0.25 (WINET 1995).
    pub gain_per_mille: u64,
}

/// Bounds of what an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Connections. Beyond them, one that was quiet for a while makes room, or the new one passes
    /// untouched.
    pub flows: usize,
    /// Cached bytes of one connection. Windows reach 64 KB (Mobicom 1995); headers come on top.
    pub flow_bytes: Bytes,
    /// Beyond so many cached bytes of a connection only segments that fill gaps are cached (Mobicom 1995).
    pub high_water: Bytes,
    /// Cached bytes of all connections.
    pub bytes: Bytes,
    /// A connection that was quiet for so long is forgotten.
    pub idle: Duration,
}

impl Config {
    /// LL: local repair by acknowledgements and timeouts; the sender sees everything.
    pub fn link_layer() -> Self {
        Self {
            repair: true,
            tcp_aware: false,
            smart: false,
            duplicates: 2,
            negative_acknowledgments: false,
            explicit_loss: ExplicitLoss::Off,
            timing: Timing::default(),
            limits: Limits::default(),
        }
    }

    /// LL-TCP-AWARE: the snoop protocol.
    pub fn tcp_aware() -> Self {
        Self {
            tcp_aware: true,
            ..Self::link_layer()
        }
    }

    /// LL-SMART: local repair by selective acknowledgements; the sender sees everything.
    pub fn smart() -> Self {
        Self {
            smart: true,
            ..Self::link_layer()
        }
    }

    /// LL-SMART-TCP-AWARE: snoop with selective acknowledgements, the paper's best.
    pub fn smart_tcp_aware() -> Self {
        Self {
            smart: true,
            tcp_aware: true,
            ..Self::link_layer()
        }
    }

    /// No repair; senders are told of losses on the air (E2E-ELN with the marks made at the base station).
    pub fn explicit_loss(explicit_loss: ExplicitLoss) -> Self {
        Self {
            repair: false,
            explicit_loss,
            ..Self::link_layer()
        }
    }

    /// For the gateway: everything on, and room for the windows of today's kernels.
    pub fn live() -> Self {
        Self {
            negative_acknowledgments: true,
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
    /// Says what is wrong with the configuration, if anything is.
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

/// The snoop protocol.
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
    /// `now + span`, at the next tick.
    pub(crate) fn after(&self, now: Instant, span: Duration) -> Instant {
        let due = (now + span).as_nanos();
        let tick = self.tick.as_nanos().max(1);
        Instant::from_nanos(due.checked_next_multiple_of(tick).unwrap_or(u64::MAX))
    }
}
