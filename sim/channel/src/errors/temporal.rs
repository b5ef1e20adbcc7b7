//! A good and a bad state that alternate in time, independent of the traffic.
//!
//! Dube, Rais, Tripathi, "Improving NFS Performance over Wireless Links", IEEE Trans. Computers 46(3), 1997 (uniform
//! periods in ticks of 20 ms, one state for both directions, evaluated when the driver handles the packet); Bhagwat,
//! Bhattacharya, Krishna, Tripathi, "Enhancing Throughput over Wireless LANs Using Channel State Dependent Packet
//! Scheduling", INFOCOM 1996 (exponential periods, a loss probability in each state); before both, Gilbert, Bell Syst.
//! Tech. J. 39, 1960, and Elliott, ibid. 42, 1963.

use machine::RandomStream;
use serde::Deserialize;
use units::{Duration, Probability};

use super::period::{Law, PeriodConfig, SHORTEST_CYCLE};
use super::timeline::Timeline;
use crate::Direction;
use crate::airtime::Airtime;
use crate::problem::Problem;

/// Rule that selects the state for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossRule {
    /// The state when the driver handles the packet, which is when its transmission starts.
    Instant,
    /// The bad state, if any part of the transmission lies in a bad period.
    #[default]
    Overlap,
}

/// State shared by both directions, or one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// One state for both directions.
    #[default]
    Shared,
    /// A state for each direction, drawn independently.
    Own,
}

/// Parameters of the two states.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemporalConfig {
    /// Length of good periods.
    pub good: PeriodConfig,
    /// Length of bad periods.
    pub bad: PeriodConfig,
    /// Tick of the periods: if given, they last whole ticks.
    pub tick: Option<Duration>,
    /// Probability that a packet is lost in the good state.
    #[serde(default)]
    pub loss_good: Probability,
    /// Probability that a packet is lost in the bad state.
    #[serde(default = "always")]
    pub loss_bad: Probability,
    /// Rule that selects the state for a packet.
    #[serde(default)]
    pub rule: LossRule,
    /// State shared by both directions, or one for each.
    #[serde(default)]
    pub state: Sharing,
}

pub(super) fn always() -> Probability {
    Probability::ALWAYS
}

impl TemporalConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let (good, bad) = self.laws()?;
        if good.mean() + bad.mean() < SHORTEST_CYCLE {
            let text = format!("good and bad together must last {SHORTEST_CYCLE} in the mean");
            return Err(Problem::new("good", text));
        }
        Ok(())
    }

    fn laws(&self) -> Result<(Law, Law), Problem> {
        if self.tick.is_some_and(Duration::is_zero) {
            return Err(Problem::new("tick", "must be more than 0"));
        }
        let good = self.good.law(self.tick).map_err(|p| p.within("good"))?;
        let bad = self.bad.law(self.tick).map_err(|p| p.within("bad"))?;
        Ok((good, bad))
    }

    pub(super) fn timeline(&self, seed: u64, direction: Direction) -> Timeline {
        let (good, bad) = self.laws().expect("a link's configuration was checked");
        let whose = match self.state {
            Sharing::Shared => "shared",
            Sharing::Own => direction.name(),
        };
        let stream = RandomStream::named(seed, &format!("channel/state/{whose}"));
        Timeline::drawn(good, bad, stream)
    }

    pub(super) fn loss(&self) -> StateLoss {
        StateLoss {
            good: self.loss_good,
            bad: self.loss_bad,
            rule: self.rule,
        }
    }
}

/// Loss probability by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateLoss {
    /// Probability of a loss in the good state.
    pub good: Probability,
    /// Probability of a loss in the bad state.
    pub bad: Probability,
    /// Rule that selects the state for a packet.
    pub rule: LossRule,
}

#[derive(Debug, Clone)]
pub(crate) struct Temporal {
    timeline: Timeline,
    loss: StateLoss,
    stream: RandomStream,
}

impl Temporal {
    pub(super) fn new(timeline: Timeline, loss: StateLoss, stream: RandomStream) -> Self {
        Self {
            timeline,
            loss,
            stream,
        }
    }

    pub(super) fn loses(&mut self, airtime: Airtime) -> bool {
        self.timeline.advance_to(airtime.start);
        let period = self.timeline.current();
        let good = match self.loss.rule {
            LossRule::Instant => period.good,
            // The state that follows a good period is bad.
            LossRule::Overlap => {
                period.good && period.until.is_none_or(|until| airtime.finish <= until)
            }
        };
        let chance = if good { self.loss.good } else { self.loss.bad };
        self.stream.chance(chance)
    }
}
