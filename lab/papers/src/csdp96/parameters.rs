//! What a plan says: the network, its hosts, the channels, and how the base station's driver works.

use channel::errors::ErrorConfig;
use channel::{CsmaConfig, DirectionConfig, Link, LinkConfig, QueueBound, Rate};
use experiment::{Case, PlanError};
use machine::RandomStream;
use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Probability};

use super::flow::{FlowConfig, Flows};
use super::oracle::Accuracy;
use crate::links::Wire;

/// More than any run needs, and little enough to wait for.
const TRANSFER_MAX: Bytes = Bytes::new(1 << 28);
/// Mobile hosts on one air.
const CONNECTIONS_MAX: u16 = 256;
/// Packets that wait for one mobile host.
const QUEUE_MAX: usize = 100_000;
/// How late outcomes are known.
const LATE_MAX: Duration = Duration::from_secs(10);

/// The plan's `[parameters]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Mobile hosts, each with one connection from a fixed host of its own.
    pub(crate) connections: u16,
    /// When all connections begin.
    #[serde(default)]
    pub(crate) begin: Duration,
    /// What each connection moves.
    pub(crate) transfer: Bytes,
    /// When a run is given up; when it ends, in experiments that look at a span of time or at a moment.
    pub(crate) until: Duration,
    /// The connection that is looked at, from 1 on, in experiments that show one.
    pub(crate) connection: Option<u16>,
    /// All hosts.
    #[serde(default)]
    pub(crate) tcp: tcp::Config,
    /// From the fixed hosts to the base station; they share it.
    pub(crate) wire: Wire,
    /// The medium access.
    #[serde(default)]
    pub(crate) air: CsmaConfig,
    /// The drivers of base station and mobile hosts.
    pub(crate) driver: Driver,
    /// What each channel loses, in both directions.
    #[serde(default)]
    pub(crate) errors: ErrorConfig,
    /// What the channel of the last mobile host with a connection loses, if it differs.
    pub(crate) last: Option<ErrorConfig>,
    /// Flows beside the connections.
    pub(crate) flows: Option<Flows>,
    /// What each mobile host with a connection sends besides, to its fixed host.
    pub(crate) uplink: Option<FlowConfig>,
}

/// How drivers hand frames to their card.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Driver {
    /// A frame is dropped when more tries than this have failed.
    pub(crate) retries: u32,
    /// Packets that may wait for one mobile host, or at one.
    pub(crate) queue: usize,
    /// What receivers tell of losses.
    #[serde(default)]
    pub(crate) hints: Hints,
    /// How rightly channels tell their states, to whom they do.
    #[serde(default)]
    pub(crate) accuracy: Accuracy,
    /// So much later than the card the scheduler knows what became of a frame, as across a link with a longer round
    /// trip than the MAC's.
    #[serde(default)]
    pub(crate) late: Duration,
    /// How fast frames are copied to the card; nothing where that takes no time.
    pub(crate) copy: Option<BitRate>,
}

/// What receivers tell of losses (the paper: a collision raises the signal, a fade lowers it).
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Hints {
    /// When.
    pub(crate) come: Coming,
    /// The share of losses whose cause is told.
    pub(crate) told: Probability,
    /// Of the collisions whose cause is told, the share that is taken for fades.
    pub(crate) mistaken: Probability,
}

/// When what a receiver tells of a loss is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Coming {
    /// As soon as the acknowledgement is missing: the most that any way of telling can reach.
    #[default]
    AtOnce,
    /// With the receiver's next acknowledgement or frame that gets through.
    WithFrames,
}

impl Driver {
    /// Refuses what makes no sense.
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

    /// What each channel loses, by the number of its mobile host.
    pub(crate) fn channels(&self) -> Vec<ErrorConfig> {
        let mut channels = vec![self.errors.clone(); usize::from(self.connections)];
        if let (Some(channel), Some(errors)) = (channels.last_mut(), &self.last) {
            errors.clone_into(channel);
        }
        channels.extend(self.flows().map(|_| self.errors.clone()));
        channels
    }

    /// The flows, if there are any.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowConfig> + use<> {
        let flows = self.flows.map(|flows| [flows.voice, flows.interactive]);
        flows.into_iter().flatten()
    }

    /// The TCP of a host, which ticks in its own time.
    pub(crate) fn host(&self, name: &str, number: u16, seed: u64) -> tcp::Config {
        let mut config = self.tcp.clone();
        let mut chance = RandomStream::named(seed, &format!("csdp96/tick/{name}/{number}"));
        let last = config.timing.tick.saturating_sub(Duration::from_nanos(1));
        config.timing.phase = chance.uniform(Duration::ZERO, last);
        config
    }

    /// The same network without errors, which moves a quarter of the data: what utilisation is compared with.
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

/// Says what is wrong with an error model, if anything is.
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
