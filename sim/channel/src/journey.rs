//! What happens to packets besides waiting, transmission and loss: jitter, policing, damage, copies.

use machine::{RandomStream, TokenDebt};
use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::Direction;
use crate::problem::Problem;

const NANOS: u64 = 1_000_000_000;

const MINUTE: Duration = Duration::from_secs(60);

/// What varies the delay of packets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum JitterConfig {
    /// Retries of a MAC, as Wi-Fi has: milliseconds from a Poisson distribution of mean 1, and with a chance 7.5 ms
    /// times another of mean 12.
    Retries(RetriesConfig),
    /// Anything up to a most, equally likely.
    Uniform(UniformConfig),
    /// Grants or aggregation: packets arrive together, those of each span at its end.
    Trains(TrainsConfig),
}

/// Parameters of retries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetriesConfig {
    /// The chance of a long delay.
    #[serde(default)]
    pub spikes: Probability,
}

/// Parameters of uniform jitter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UniformConfig {
    /// The longest additional delay.
    pub most: Duration,
}

/// Parameters of trains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainsConfig {
    /// The time from train to train.
    pub every: Duration,
}

/// A token bucket that drops what exceeds it, before the queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// What may pass in the long run.
    pub rate: BitRate,
    /// What may pass at once.
    pub burst: Bytes,
}

/// What else may go wrong with packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultsConfig {
    /// The chance that a packet arrives twice.
    #[serde(default)]
    pub duplicates: Probability,
    /// The chance that a packet is changed on its way, so that whoever receives it drops it.
    #[serde(default)]
    pub damage: Probability,
    /// Whether packets may overtake each other where their delays differ: by jitter, or by a step to a shorter path.
    #[serde(default)]
    pub overtaking: bool,
}

/// All of it, for one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JourneyConfig {
    pub(crate) jitter: Option<JitterConfig>,
    pub(crate) policer: Option<PolicerConfig>,
    pub(crate) faults: FaultsConfig,
}

impl JourneyConfig {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let within = |span: Duration| !span.is_zero() && span <= MINUTE;
        match &self.jitter {
            None | Some(JitterConfig::Retries(_)) => {}
            Some(JitterConfig::Uniform(config)) if within(config.most) => {}
            Some(JitterConfig::Trains(config)) if within(config.every) => {}
            Some(JitterConfig::Uniform(_)) => {
                let text = "must lie above 0 s and not above 60 s";
                return Err(Problem::new("jitter.most", text));
            }
            Some(JitterConfig::Trains(_)) => {
                let text = "must lie above 0 s and not above 60 s";
                return Err(Problem::new("jitter.every", text));
            }
        }
        if let Some(policer) = &self.policer {
            if policer.rate.bits_per_second() == 0 {
                return Err(Problem::new("policer.rate", "must be more than 0 bit/s"));
            }
            let burst = policer.burst;
            if burst < Bytes::new(1_600) || burst > Bytes::mebi(256) {
                let text = "must lie between 1600 B and 256 MiB";
                return Err(Problem::new("policer.burst", text));
            }
        }
        Ok(())
    }

    /// The key of something that only a channel between two hosts has.
    pub(crate) fn first_key(&self) -> Option<&'static str> {
        if self.jitter.is_some() {
            return Some("jitter");
        }
        if self.policer.is_some() {
            return Some("policer");
        }
        (self.faults != FaultsConfig::default()).then_some("faults")
    }
}

/// What becomes of a packet that was transmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    #[default]
    Arrives,
    ArrivesTwice,
    Lost,
    Damaged,
}

/// The state of it.
#[derive(Debug, Clone)]
pub(crate) struct Journey {
    config: JourneyConfig,
    stream: RandomStream,
    /// What the policer has let pass, in 10⁻⁹ bit.
    policed: TokenDebt,
}

impl Journey {
    pub(crate) fn new(config: &JourneyConfig, seed: u64, direction: Direction) -> Self {
        Self {
            config: config.clone(),
            stream: RandomStream::named(seed, &format!("channel/journey/{direction}")),
            policed: TokenDebt::default(),
        }
    }

    /// Returns true if a packet may join the queue.
    pub(crate) fn admits(&mut self, now: Instant, size: Bytes) -> bool {
        let Some(policer) = &self.config.policer else {
            return true;
        };
        let [needed, full] = [size, policer.burst].map(|bytes| bytes.get() * 8 * NANOS);
        let rate = u128::from(policer.rate.bits_per_second());
        let earned = |span: Duration| u64::try_from(u128::from(span.as_nanos()) * rate);
        self.policed
            .take(now, needed, full, |span| earned(span).unwrap_or(u64::MAX))
    }

    /// When a packet arrives that without jitter would at `at`.
    pub(crate) fn arrival(&mut self, at: Instant) -> Instant {
        match &self.config.jitter {
            None => at,
            Some(JitterConfig::Uniform(config)) => {
                at + self.stream.uniform(Duration::ZERO, config.most)
            }
            Some(JitterConfig::Trains(config)) => {
                let every = config.every.as_nanos();
                Instant::from_nanos(at.as_nanos().div_ceil(every).saturating_mul(every))
            }
            Some(JitterConfig::Retries(config)) => {
                let spikes = self.stream.chance(config.spikes);
                let short = Duration::from_millis(poisson(&mut self.stream, 1));
                let long = if spikes {
                    poisson(&mut self.stream, 12)
                } else {
                    0
                };
                at + short + Duration::from_micros(7_500) * long
            }
        }
    }

    /// Whether packets may overtake each other.
    pub(crate) fn overtaking(&self) -> bool {
        self.config.faults.overtaking
    }

    /// What becomes of a packet that the air has carried, or lost.
    pub(crate) fn end(&mut self, lost: bool) -> End {
        let faults = &self.config.faults;
        if *faults == FaultsConfig::default() {
            return if lost { End::Lost } else { End::Arrives };
        }
        let damaged = self.stream.chance(faults.damage);
        let twice = self.stream.chance(faults.duplicates);
        match (lost, damaged, twice) {
            (true, _, _) => End::Lost,
            (false, true, _) => End::Damaged,
            (false, false, true) => End::ArrivesTwice,
            (false, false, false) => End::Arrives,
        }
    }
}

/// A draw from the Poisson distribution with this mean: events of a unit rate within it.
fn poisson(stream: &mut RandomStream, mean: u64) -> u64 {
    const UNIT: u64 = 1 << 32;
    let mut left = mean * UNIT;
    let mut count = 0;
    loop {
        match left.checked_sub(stream.exponential(UNIT)) {
            Some(rest) => left = rest,
            None => return count,
        }
        count += 1;
    }
}
