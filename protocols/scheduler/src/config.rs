//! The configuration of a scheduler.

use machine::{ConfigError, check_rules};
use serde::{Deserialize, Serialize};
use units::Duration;

/// Configuration of a [`Scheduler`](crate::Scheduler).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rule that selects the next destination.
    pub discipline: Discipline,
    /// Source of the channel states.
    pub monitor: Monitor,
}

/// Rule that selects the next destination. Those whose names begin with `csdp` are the paper's (Bhagwat et al. 1996),
/// as are the three that it compares them with; the last two extend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// In order of arrival, as in one queue: the frame at the head is tried until it is delivered or given up.
    Fifo,
    /// One destination after the other; the head of a queue is tried until it is delivered or given up.
    RoundRobin,
    /// One destination after the other; a frame that failed waits for the next round. It ignores channel states.
    RoundRobinDeferring,
    /// One destination after the other, those with good channels first.
    CsdpRoundRobin,
    /// In order of arrival, frames for good channels first.
    CsdpEarliestTimestamp,
    /// The queue with the most bytes, good channels first.
    CsdpLongestQueue,
    /// Equal shares of airtime by deficit round robin, good channels first.
    #[default]
    Airtime,
    /// The queue with the most bytes among good channels; never a bad one (Tassiulas and Ephremides 1993).
    LongestConnectedQueue,
}

impl Discipline {
    /// All disciplines.
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

/// Source of the channel states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Monitor {
    /// The channel reports its state ([`Input::Channel`](crate::Input::Channel)).
    Perfect,
    /// Missing acknowledgements, and the estimated length of a burst.
    Acknowledgements(Bursts),
    /// Missing acknowledgements; small frames detect the end of the burst.
    Probing(Probing),
}

/// Returns probing: it measures best among the monitors without an oracle, simulated and live.
impl Default for Monitor {
    fn default() -> Self {
        Self::Probing(Probing::default())
    }
}

/// Settings for detecting a burst by missing acknowledgements, and for its presumed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bursts {
    /// Number of missing acknowledgements in a row that mark a destination. Our choice: one, since the channel of the
    /// paper loses nothing, or next to nothing, while it is good.
    pub missing: u32,
    /// Presumed length of a burst before the first measurement. Our choice: 50 ms.
    pub initial: Duration,
    /// Shortest time that a mark lasts.
    pub minimum: Duration,
    /// Longest time that a mark lasts before the channel is tried again, whatever the estimated burst length. If a
    /// channel changes faster than it is tried, several bursts look like one long burst, so that tries become rarer
    /// still. Our choice: 200 ms, as between probes; with 1 s a host that is in fades of 100 ms half of the time gets
    /// half as much.
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

/// Settings of probes, which detect the end of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Probing {
    /// Number of missing acknowledgements in a row that mark a destination.
    pub missing: u32,
    /// Time from the mark to the first probe; each wait is half as long again as the one before it. A probe goes out
    /// only when the destination's turn has come, and only if frames wait for it.
    pub first: Duration,
    /// Longest wait between probes.
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
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value is out of its limits; the first one is reported.
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
