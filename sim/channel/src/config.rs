//! The configuration of a link, as in its file.

use serde::Deserialize;
use units::Duration;

use crate::errors::ErrorConfig;
use crate::journey::{FaultsConfig, JitterConfig, JourneyConfig, PolicerConfig};
use crate::mtu::Mtu;
use crate::opportunities::OPPORTUNITY;
use crate::plan::{Plan, QueueBound, Rate, Step};
use crate::problem::Problem;
use crate::process::ProcessConfig;

/// The medium of both directions: separate or shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// A separate medium for each direction.
    #[default]
    Separate,
    /// One medium for both directions. While both have packets to send, they take turns packet by packet, which is the
    /// long-term fairness of CSMA/CA.
    HalfDuplex,
}

/// A link as in its file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Description of the link, in one line.
    #[serde(default)]
    pub description: String,
    /// The medium of both directions.
    #[serde(default)]
    pub medium: Medium,
    /// Time that each packet occupies the air besides its bytes; errors do not affect it. It stands for medium access,
    /// preamble, and the acknowledgement of the MAC.
    #[serde(default)]
    pub access: Duration,
    /// Configuration of both directions; replaces `down` and `up`.
    pub each: Option<DirectionConfig>,
    /// From the gateway to the mobile host.
    pub down: Option<DirectionConfig>,
    /// From the mobile host to the gateway.
    pub up: Option<DirectionConfig>,
    /// Error model of both directions; replaces one for each.
    pub errors: Option<ErrorConfig>,
}

/// One direction as in a link's file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionConfig {
    /// Rate at which packets are transmitted; a trace can replace it.
    pub rate: Option<Rate>,
    /// Name of a file with delivery opportunities, in the format of [`Opportunities`](crate::Opportunities).
    pub mahimahi: Option<String>,
    /// A random rate process; replaces `rate` and `mahimahi`.
    pub process: Option<ProcessConfig>,
    /// Time from the end of a transmission to the arrival.
    pub delay: Duration,
    /// Bound of the queue.
    pub queue: QueueBound,
    /// The largest IP packet; unlimited by default.
    pub mtu: Option<Mtu>,
    /// Later changes of these properties.
    #[serde(default)]
    pub schedule: Vec<StepConfig>,
    /// Time after which the schedule repeats; by default its last step holds for ever.
    pub repeat: Option<Duration>,
    /// Error model of this direction.
    pub errors: Option<ErrorConfig>,
    /// Variation of the delay.
    pub jitter: Option<JitterConfig>,
    /// Token bucket that drops packets before the queue.
    pub policer: Option<PolicerConfig>,
    /// Other faults.
    #[serde(default)]
    pub faults: FaultsConfig,
}

/// A change of a direction's properties; a property that is not given stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Time of the change, from the beginning of the schedule.
    pub at: Duration,
    /// The new rate.
    pub rate: Option<Rate>,
    /// The new delay; packets overtake each other only with `faults.overtaking`.
    pub delay: Option<Duration>,
    /// The new queue bound; packets that wait already stay.
    pub queue: Option<QueueBound>,
    /// The new largest IP packet; packets that wait already stay.
    pub mtu: Option<Mtu>,
}

impl DirectionConfig {
    /// Returns a direction that does not change and loses nothing.
    pub fn steady(rate: Rate, delay: Duration, queue: QueueBound) -> Self {
        Self {
            rate: Some(rate),
            mahimahi: None,
            process: None,
            delay,
            queue,
            mtu: None,
            schedule: Vec::new(),
            repeat: None,
            errors: None,
            jitter: None,
            policer: None,
            faults: FaultsConfig::default(),
        }
    }

    /// Returns jitter, policer and faults, checked.
    pub(crate) fn journey(&self) -> Result<JourneyConfig, Problem> {
        let journey = JourneyConfig {
            jitter: self.jitter.clone(),
            policer: self.policer.clone(),
            faults: self.faults.clone(),
        };
        journey.check()?;
        Ok(journey)
    }

    /// Returns the steps, checked.
    pub(crate) fn plan(&self) -> Result<Plan, Problem> {
        let rate = match (self.rate, &self.mahimahi, &self.process) {
            (Some(rate), None, None) => rate,
            (None, Some(_), None) | (None, None, Some(_)) => Rate::Unlimited,
            _ => {
                let text = "give either a rate (such as '2 Mbit/s' or 'unlimited'), or mahimahi, or a process";
                return Err(Problem::new("rate", text));
            }
        };
        let mut steps = vec![Step {
            at: Duration::ZERO,
            rate,
            delay: self.delay,
            queue: self.queue,
            mtu: self.mtu,
        }];
        for (number, step) in self.schedule.iter().enumerate() {
            let last = steps[number];
            self.check_step(step, last.at)
                .map_err(|problem| problem.within(&format!("schedule[{number}]")))?;
            steps.push(Step {
                at: step.at,
                rate: step.rate.unwrap_or(last.rate),
                delay: step.delay.unwrap_or(last.delay),
                queue: step.queue.unwrap_or(last.queue),
                mtu: step.mtu.or(last.mtu),
            });
        }
        for step in &steps {
            check_queue(step.queue)?;
        }
        self.check_flow(&steps)?;
        Ok(Plan::new(steps, self.repeat))
    }

    fn check_step(&self, step: &StepConfig, last: Duration) -> Result<(), Problem> {
        if step.at <= last {
            let text = format!("{} does not lie after the step before ({last})", step.at);
            return Err(Problem::new("at", text));
        }
        if self.repeat.is_some_and(|repeat| step.at >= repeat) {
            let text = format!("{} does not lie before the end of a repetition", step.at);
            return Err(Problem::new("at", text));
        }
        if step.rate.is_some() && self.rate.is_none() {
            let text = "a mahimahi trace or a process says the rate already; leave this out";
            return Err(Problem::new("rate", text));
        }
        Ok(())
    }

    /// Checks that a queue does not stand still for ever, and that a repetition carries something.
    fn check_flow(&self, steps: &[Step]) -> Result<(), Problem> {
        let Some(repeat) = self.repeat else {
            let last = steps.last().map(|step| step.rate);
            return check_rate(last.is_some_and(moves), "the last rate of all");
        };
        if self.schedule.is_empty() {
            return Err(Problem::new("repeat", "there is no schedule to repeat"));
        }
        let ends = steps.iter().skip(1).map(|step| step.at);
        let room = steps
            .iter()
            .zip(ends.chain([repeat]))
            .map(|(step, end)| match step.rate {
                Rate::Unlimited => OPPORTUNITY,
                Rate::Limited(rate) => rate.bytes_in(end - step.at),
            })
            .sum::<units::Bytes>();
        check_rate(room >= OPPORTUNITY, "what one repetition carries")
    }
}

fn moves(rate: Rate) -> bool {
    match rate {
        Rate::Unlimited => true,
        Rate::Limited(rate) => rate.bits_per_second() > 0,
    }
}

fn check_rate(enough: bool, what: &str) -> Result<(), Problem> {
    if enough {
        return Ok(());
    }
    let text = format!("{what} must be enough to move a packet of 1500 bytes");
    Err(Problem::new("rate", text))
}

fn check_queue(queue: QueueBound) -> Result<(), Problem> {
    let fits = match queue {
        QueueBound::Packets(count) => count >= 1,
        QueueBound::Bytes(bytes) => bytes >= OPPORTUNITY,
    };
    if fits {
        return Ok(());
    }
    Err(Problem::new(
        "queue",
        "must hold at least 1 packet, or 1500 B",
    ))
}
