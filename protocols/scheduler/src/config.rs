//! How a scheduler decides.

use machine::{ConfigError, check_rules};
use serde::{Deserialize, Serialize};
use units::Duration;

/// How a [`Scheduler`](crate::Scheduler) decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose turn it is.
    pub discipline: Discipline,
    /// How the states of the channels are known.
    pub monitor: Monitor,
}

/// Whose turn it is. Those whose names begin with `csdp` are the paper's (Bhagwat et al. 1996), as are the three that
/// it compares them with; the last two are what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// In the order in which frames came, as one queue would have it, whose head is tried until it is delivered or
    /// given up.
    Fifo,
    /// One destination after the other; the head of a line is tried until it is delivered or given up.
    RoundRobin,
    /// One destination after the other; a frame that failed waits for the next round. It knows nothing of channels.
    RoundRobinDeferring,
    /// One destination after the other, those with good channels first.
    CsdpRoundRobin,
    /// In the order in which frames came, those for good channels first.
    CsdpEarliestTimestamp,
    /// Where the most bytes wait, good channels first.
    CsdpLongestQueue,
    /// The same share of airtime to each, by deficit round robin, good channels first.
    #[default]
    Airtime,
    /// Where the most bytes wait among good channels; never to a bad one (Tassiulas and Ephremides 1993).
    LongestConnectedQueue,
}

impl Discipline {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Fifo,
        Self::RoundRobin,
        Self::RoundRobinDeferring,
        Self::CsdpRoundRobin,
        Self::CsdpEarliestTimestamp,
        Self::CsdpLongestQueue,
        Self::Airtime,
        Self::LongestConnectedQueue,
    ];
}

/// How the states of the channels are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Monitor {
    /// The channel tells ([`Input::Channel`](crate::Input::Channel)).
    Perfect,
    /// By acknowledgements that are missing, and the usual length of a burst.
    Acknowledgements(Bursts),
    /// By acknowledgements that are missing; small frames find the burst's end.
    Probing(Probing),
}

/// Probing: of what needs no oracle it measures best, simulated and live.
impl Default for Monitor {
    fn default() -> Self {
        Self::Probing(Probing::default())
    }
}

/// When acknowledgements that are missing mean a burst, and how long one is presumed to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bursts {
    /// So many missing in a row mark a destination. Our choice: one, since the channel of the paper loses nothing, or
    /// next to nothing, while it is good.
    pub missing: u32,
    /// How long a burst lasts, before any was seen. Our choice: 50 ms.
    pub initial: Duration,
    /// A mark lasts at least so long.
    pub minimum: Duration,
    /// And at most so long before the channel is tried again, however long bursts seemed to be. Where a channel
    /// changes faster than it is tried, new bursts pass for one long one, so that tries become rarer still. Our choice:
    /// 200 ms, as between probes; with 1 s a host in fades of 100 ms half of the time gets half as much.
    pub maximum: Duration,
}

impl Default for Bursts {
    fn default() -> Self {
        Self {
            missing: 1,
            initial: Duration::from_millis(50),
            minimum: Duration::from_millis(5),
            maximum: Duration::from_millis(200),
        }
    }
}

/// How the end of a burst is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Probing {
    /// So many acknowledgements missing in a row mark a destination.
    pub missing: u32,
    /// The first probe goes out so long after the mark, and each after a wait that is half as long again as the one
    /// before it; but not before the destination's turn has come, and only if something waits for it.
    pub first: Duration,
    /// The longest wait.
    pub maximum: Duration,
}

impl Default for Probing {
    fn default() -> Self {
        Self {
            missing: 1,
            first: Duration::from_millis(10),
            maximum: Duration::from_millis(200),
        }
    }
}

impl Config {
    /// Says what is wrong with the configuration, if anything is.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rules = match self.monitor {
            Monitor::Perfect => return Ok(()),
            Monitor::Acknowledgements(bursts) => [
                (bursts.missing > 0, "`missing` must be at least 1"),
                (!bursts.minimum.is_zero(), "`minimum` must be more than 0 s"),
                (
                    (bursts.minimum..=bursts.maximum).contains(&bursts.initial),
                    "`initial` must lie between `minimum` and `maximum`",
                ),
            ],
            Monitor::Probing(probing) => [
                (probing.missing > 0, "`missing` must be at least 1"),
                (!probing.first.is_zero(), "`first` must be more than 0 s"),
                (
                    probing.maximum >= probing.first,
                    "`maximum` must be at least `first`",
                ),
            ],
        };
        check_rules("scheduler", &rules)
    }
}
