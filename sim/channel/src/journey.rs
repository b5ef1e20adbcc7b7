//! Effects on packets besides waiting, transmission and loss: jitter, policing, reordering, duplication, corruption.

use machine::{RandomStream, TokenDebt};
use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::Direction;
use crate::problem::Problem;

const NANOS: u64 = 1_000_000_000;

const MINUTE: Duration = Duration::from_secs(60);

/// Model of the variation of the delay.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum JitterConfig {
    /// Retries of a MAC, as in Wi-Fi: milliseconds from a Poisson distribution of mean 1, and with a probability 7.5 ms
    /// times another of mean 12.
    Retries(RetriesConfig),
    /// An additional delay between zero and a maximum, uniformly distributed.
    Uniform(UniformConfig),
    /// An additional delay with a mean, exponentially distributed.
    Exponential(ExponentialConfig),
    /// Grants or aggregation: packets arrive in groups, those of each interval at its end.
    Trains(TrainsConfig),
}

/// Parameters of retries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetriesConfig {
    /// Probability of a long delay.
    #[serde(default)]
    pub spikes: Probability,
}

/// Parameters of uniform jitter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UniformConfig {
    /// Largest additional delay.
    pub most: Duration,
}

/// Parameters of exponential jitter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExponentialConfig {
    /// Mean of the additional delay; none exceeds 45 times that.
    pub mean: Duration,
}

/// Parameters of packet trains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainsConfig {
    /// Time from one train to the next.
    pub every: Duration,
}

/// A token bucket that drops the packets that exceed it, before the queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// Long-term rate that passes.
    pub rate: BitRate,
    /// Largest burst that passes at once.
    pub burst: Bytes,
}

/// Other faults of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultsConfig {
    /// Probability that a packet arrives twice.
    #[serde(default)]
    pub duplicates: Probability,
    /// Probability that a packet is damaged on its way, so that its receiver drops it.
    #[serde(default)]
    pub damage: Probability,
    /// Probability that a packet arrives with some of its bits flipped.
    #[serde(default)]
    pub corruption: Probability,
    /// Packets that are held back, so that others overtake them; none by default.
    pub reordering: Option<ReorderingConfig>,
    /// True if packets may overtake each other when their delays differ, by jitter or by a step to a shorter path.
    #[serde(default)]
    pub overtaking: bool,
}

/// Packets that are held back, each on its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderingConfig {
    /// Probability that a packet is held back.
    pub share: Probability,
    /// Time for which it is held back.
    pub hold: Duration,
}

/// Jitter, policer and faults of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JourneyConfig {
    pub(crate) jitter: Option<JitterConfig>,
    pub(crate) policer: Option<PolicerConfig>,
    pub(crate) faults: FaultsConfig,
}

impl JourneyConfig {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        match &self.jitter {
            None | Some(JitterConfig::Retries(_)) => {}
            Some(JitterConfig::Uniform(config)) => check_span("jitter.most", config.most)?,
            Some(JitterConfig::Exponential(config)) => check_span("jitter.mean", config.mean)?,
            Some(JitterConfig::Trains(config)) => check_span("jitter.every", config.every)?,
        }
        if let Some(reordering) = &self.faults.reordering {
            check_span("faults.reordering.hold", reordering.hold)?;
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

    /// Returns the key of a property that only a channel between two hosts supports.
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

fn check_span(key: &str, span: Duration) -> Result<(), Problem> {
    if !span.is_zero() && span <= MINUTE {
        return Ok(());
    }
    Err(Problem::new(key, "must lie above 0 s and not above 60 s"))
}

/// Bits of a packet that were flipped on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitFlips(u64);

impl BitFlips {
    /// Flips one to eight bits of `bytes`, the same ones each time, and at least one.
    pub fn apply(self, bytes: &mut [u8]) {
        let bits = bytes.len() as u64 * 8;
        let mut stream = RandomStream::named(self.0, "channel/flips");
        let Some(first) = (bits > 0).then(|| stream.below(bits)) else {
            return;
        };
        let mut flipped = vec![first];
        for _ in 0..stream.below(8) {
            let bit = stream.below(bits);
            if !flipped.contains(&bit) {
                flipped.push(bit);
            }
        }
        for bit in flipped {
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}

/// Result of a packet that was transmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    #[default]
    Arrives,
    ArrivesTwice,
    Lost,
    Damaged,
    Corrupted(BitFlips),
}

/// State of jitter, policer and faults.
#[derive(Debug, Clone)]
pub(crate) struct Journey {
    config: JourneyConfig,
    stream: RandomStream,
    /// Streams of the faults that draw only if they are configured.
    holds: RandomStream,
    flips: RandomStream,
    /// Debt of the policer's token bucket, in 10⁻⁹ bit.
    policed: TokenDebt,
}

impl Journey {
    pub(crate) fn new(config: &JourneyConfig, seed: u64, direction: Direction) -> Self {
        let stream = |name| RandomStream::named(seed, &format!("channel/{name}/{direction}"));
        Self {
            config: config.clone(),
            stream: stream("journey"),
            holds: stream("holds"),
            flips: stream("flips"),
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

    /// Returns the arrival time of a packet that without jitter would arrive at `at`.
    pub(crate) fn arrival(&mut self, at: Instant) -> Instant {
        match &self.config.jitter {
            None => at,
            Some(JitterConfig::Uniform(config)) => {
                at + self.stream.uniform(Duration::ZERO, config.most)
            }
            Some(JitterConfig::Exponential(config)) => {
                at + Duration::from_nanos(self.stream.exponential(config.mean.as_nanos()))
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

    /// Returns true if packets may overtake each other when their delays differ.
    pub(crate) fn overtaking(&self) -> bool {
        self.config.faults.overtaking
    }

    /// Returns the time for which the next packet is held back, while others overtake it.
    pub(crate) fn hold(&mut self) -> Option<Duration> {
        let reordering = self.config.faults.reordering.as_ref()?;
        self.holds
            .chance(reordering.share)
            .then_some(reordering.hold)
    }

    /// Returns the result of a packet that the air has carried, or lost.
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
            (false, false, _) if self.corrupts() => End::Corrupted(BitFlips(self.flips.next_u64())),
            (false, false, true) => End::ArrivesTwice,
            (false, false, false) => End::Arrives,
        }
    }

    fn corrupts(&mut self) -> bool {
        let corruption = self.config.faults.corruption;
        corruption != Probability::default() && self.flips.chance(corruption)
    }
}

/// Returns a draw from the Poisson distribution with this mean: the number of events of unit rate within it.
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
