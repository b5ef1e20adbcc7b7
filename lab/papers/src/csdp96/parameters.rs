//! The parameters of a plan: the network, its hosts, the channels, and the driver of the base station.

use channel::errors::ErrorConfig;
use channel::{CsmaConfig, DirectionConfig, Link, LinkConfig, QueueBound, Rate};
use experiment::{Case, PlanError};
use machine::RandomStream;
use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Probability};

use super::flow::{FlowConfig, Flows};
use super::oracle::Accuracy;
use crate::links::Wire;

/// Upper limit of a transfer; more than any run needs, and still short enough to wait for.
const TRANSFER_MAX: Bytes = Bytes::new(1 << 28);
/// Upper limit of mobile hosts on one air.
const CONNECTIONS_MAX: u16 = 256;
/// Upper limit of packets that wait for one mobile host.
const QUEUE_MAX: usize = 100_000;
/// Upper limit of the delay of outcomes.
const LATE_MAX: Duration = Duration::from_secs(10);

/// The `[parameters]` of the plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Number of mobile hosts, each with one connection from a fixed host of its own.
    pub(crate) connections: u16,
    /// Time at which all connections begin.
    #[serde(default)]
    pub(crate) begin: Duration,
    /// Bytes that each connection transfers.
    pub(crate) transfer: Bytes,
    /// Time at which a run is given up; or at which it ends, in experiments over a span of time or at a moment.
    pub(crate) until: Duration,
    /// Number of the connection to measure, from 1 on, in experiments that show one.
    pub(crate) connection: Option<u16>,
    /// TCP of all hosts.
    #[serde(default)]
    pub(crate) tcp: tcp::Config,
    /// The wire from the fixed hosts to the base station; they share it.
    pub(crate) wire: Wire,
    /// The medium access.
    #[serde(default)]
    pub(crate) air: CsmaConfig,
    /// The drivers of base station and mobile hosts.
    pub(crate) driver: Driver,
    /// Error model of each channel, in both directions.
    #[serde(default)]
    pub(crate) errors: ErrorConfig,
    /// Error model of the channel of the last mobile host with a connection, if it differs.
    pub(crate) last: Option<ErrorConfig>,
    /// Flows beside the connections.
    pub(crate) flows: Option<Flows>,
    /// Flow that each mobile host with a connection also sends to its fixed host.
    pub(crate) uplink: Option<FlowConfig>,
}

/// The way in which drivers hand frames to their card.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Driver {
    /// Retry limit: a frame is dropped when more tries than this have failed.
    pub(crate) retries: u32,
    /// Largest number of packets that wait for one mobile host, or at one.
    pub(crate) queue: usize,
    /// Reports of receivers on losses.
    #[serde(default)]
    pub(crate) hints: Hints,
    /// Accuracy of the channel states, for schemes that get them.
    #[serde(default)]
    pub(crate) accuracy: Accuracy,
    /// Delay until the scheduler knows the result of a frame, after the card does; as across a link with a longer
    /// round-trip time than the MAC's.
    #[serde(default)]
    pub(crate) late: Duration,
    /// Rate at which frames are copied to the card; `None` if copying takes no time.
    pub(crate) copy: Option<BitRate>,
}

/// Reports of receivers on losses (the paper: a collision raises the signal, a fade lowers it).
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Hints {
    /// Time at which reports arrive.
    pub(crate) come: Coming,
    /// Share of losses whose cause is reported.
    pub(crate) told: Probability,
    /// Share of the reported collisions that are mistaken for fades.
    pub(crate) mistaken: Probability,
}

/// Time at which a report on a loss is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Coming {
    /// As soon as the acknowledgement is missing: the upper limit for any kind of report.
    #[default]
    AtOnce,
    /// With the receiver's next acknowledgement or frame that gets through.
    WithFrames,
}

impl Driver {
    /// Refuses invalid values.
    pub(crate) fn check(&self, case: &Case) -> Result<(), PlanError> {
        if !(1..=QUEUE_MAX).contains(&self.queue) {
            return Err(case.wrong_parameter("driver.queue", "allowed: 1 to 100000 packets"));
        }
        if self.late > LATE_MAX {
            return Err(case.wrong_parameter("driver.late", "allowed: 0 s to 10 s"));
        }
        let copies = |rate: BitRate| rate.bits_per_second() >= 10_000;
        if !self.copy.is_none_or(copies) {
            return Err(case.wrong_parameter("driver.copy", "allowed: from 10 kbit/s on"));
        }
        Ok(())
    }
}

impl Parameters {
    /// Reads and checks the parameters of a case.
    pub(crate) fn read(case: &Case) -> Result<Self, PlanError> {
        let parameters: Self = case.parameters()?;
        if !(Bytes::new(1)..=TRANSFER_MAX).contains(&parameters.transfer) {
            return Err(case.wrong_parameter("transfer", "allowed: 1 B to 256 MiB"));
        }
        if !(1..=CONNECTIONS_MAX).contains(&parameters.connections) {
            return Err(case.wrong_parameter("connections", "allowed: 1 to 256"));
        }
        parameters.driver.check(case)?;
        let connection = parameters.connection.unwrap_or(1);
        if !(1..=parameters.connections).contains(&connection) {
            return Err(case.wrong_parameter("connection", "allowed: 1 to `connections`"));
        }
        let moves = |flow: FlowConfig| {
            flow.every >= Duration::from_micros(100) && flow.length <= Bytes::new(1_500)
        };
        let what = "allowed: `every` from 100 us on, `length` up to 1500 B";
        if !parameters.flows().all(moves) {
            return Err(case.wrong_parameter("flows", what));
        }
        if !parameters.uplink.is_none_or(moves) {
            return Err(case.wrong_parameter("uplink", what));
        }
        let every = parameters.driver.accuracy.every;
        if every.is_some_and(|every| every < Duration::from_micros(100)) {
            return Err(case.wrong_parameter("driver.accuracy.every", "allowed: from 100 us on"));
        }
        let wrong = |key: &'static str| move |error: String| case.wrong_parameter(key, error);
        let text = |error: machine::ConfigError| error.to_string();
        parameters.tcp.check().map_err(text).map_err(wrong("tcp"))?;
        parameters.air.check().map_err(text).map_err(wrong("air"))?;
        parameters.wire.line().map_err(wrong("wire"))?;
        check_errors(&parameters.errors).map_err(wrong("errors"))?;
        if let Some(last) = &parameters.last {
            check_errors(last).map_err(wrong("last"))?;
        }
        Ok(parameters)
    }

    /// Returns the error model of each channel, by the number of its mobile host.
    pub(crate) fn channels(&self) -> Vec<ErrorConfig> {
        let mut channels = vec![self.errors.clone(); usize::from(self.connections)];
        if let (Some(channel), Some(errors)) = (channels.last_mut(), &self.last) {
            errors.clone_into(channel);
        }
        channels.extend(self.flows().map(|_| self.errors.clone()));
        channels
    }

    /// Returns the flows, if there are any.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowConfig> + use<> {
        let flows = self.flows.map(|flows| [flows.voice, flows.interactive]);
        flows.into_iter().flatten()
    }

    /// Returns the TCP of a host, whose timer ticks have their own phase.
    pub(crate) fn host(&self, name: &str, number: u16, seed: u64) -> tcp::Config {
        let mut config = self.tcp.clone();
        let mut chance = RandomStream::named(seed, &format!("csdp96/tick/{name}/{number}"));
        let last = config.timing.tick.saturating_sub(Duration::from_nanos(1));
        config.timing.phase = chance.uniform(Duration::ZERO, last);
        config
    }

    /// Returns the same network without errors and with a quarter of the data: the reference of utilisation.
    pub(crate) fn without_errors(&self) -> Self {
        Self {
            begin: Duration::ZERO,
            transfer: Bytes::new(self.transfer.get().div_ceil(4)),
            errors: ErrorConfig::default(),
            last: None,
            flows: None,
            ..self.clone()
        }
    }
}

/// Returns an error if an error model is invalid.
pub(crate) fn check_errors(errors: &ErrorConfig) -> Result<(), String> {
    let bound = QueueBound::Packets(1);
    let each = DirectionConfig::steady(Rate::Unlimited, Duration::ZERO, bound);
    let config = LinkConfig {
        each: Some(each),
        errors: Some(errors.clone()),
        ..LinkConfig::default()
    };
    let refuse = |_: &str| Err("a plan names no files".to_owned());
    let link = Link::from_config(config, "channel", &refuse);
    link.map(drop).map_err(|error| error.to_string())
}
