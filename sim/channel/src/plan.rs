//! Rate, delay and queue bound of one direction, as they change over time.

use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Instant, ParseQuantityError};

use crate::counters::{Amount, Cause};
use crate::mtu::Mtu;

/// Rate at which packets are transmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Packets take no time.
    Unlimited,
    /// Bits per second; zero means that nothing moves.
    Limited(BitRate),
}

impl std::str::FromStr for Rate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "unlimited" => Ok(Self::Unlimited),
            rate => rate.parse().map(Self::Limited),
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        text.parse().map_err(|error| {
            serde::de::Error::custom(format!("{error}, or 'unlimited' for no serialisation"))
        })
    }
}

/// Bound of a queue; packets that would exceed it are dropped at the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueBound {
    /// At most this number of packets.
    Packets(u64),
    /// At most this amount of data.
    Bytes(Bytes),
}

impl QueueBound {
    /// Returns true if a packet of `size` may join the packets `waiting`.
    pub(crate) fn admits(self, waiting: Amount, size: Bytes) -> bool {
        match self {
            Self::Packets(bound) => waiting.packets < bound,
            Self::Bytes(bound) => waiting.bytes + size <= bound,
        }
    }
}

/// Parses `50 packets`, or an amount such as `64 KiB`.
impl std::str::FromStr for QueueBound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let count = trimmed
            .strip_suffix("packets")
            .or_else(|| trimmed.strip_suffix("packet"));
        match count {
            Some(count) => count.trim().parse().map(Self::Packets).ok(),
            None => trimmed.parse().map(Self::Bytes).ok(),
        }
        .ok_or_else(|| {
            format!("'{text}' is not a queue bound; write it like '50 packets' or '64 KiB'")
        })
    }
}

impl<'de> Deserialize<'de> for QueueBound {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Properties from one moment of a [`Plan`] to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Start of the step, from the plan's beginning.
    pub at: Duration,
    /// Rate at which packets are transmitted.
    pub rate: Rate,
    /// Time from the end of a transmission to the arrival.
    pub delay: Duration,
    /// Bound of the queue.
    pub queue: QueueBound,
    /// The largest IP packet; longer ones are dropped without notice.
    pub mtu: Option<Mtu>,
}

impl Step {
    /// Returns `Ok` if a packet of `size` may join the packets `waiting`, or the reason why it is dropped.
    pub(crate) fn takes(&self, waiting: Amount, size: Bytes) -> Result<(), Cause> {
        if self.mtu.is_some_and(|mtu| !mtu.admits(size)) {
            return Err(Cause::TooLong);
        }
        let fits = self.queue.admits(waiting, size);
        fits.then_some(()).ok_or(Cause::QueueFull)
    }
}

/// The steps of one direction, possibly repeating.
///
/// The first step begins at zero, steps are in order, and all lie within one repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
    repeat: Option<Duration>,
}

impl Plan {
    /// Returns a plan of these steps; `repeat` is the length of one repetition.
    pub(crate) fn new(steps: Vec<Step>, repeat: Option<Duration>) -> Self {
        assert!(
            steps.first().is_some_and(|step| step.at.is_zero()),
            "a plan begins at zero"
        );
        Self { steps, repeat }
    }

    /// Returns every step of one repetition.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the time after which the steps repeat; `None` if the last one holds for ever.
    pub fn repeat(&self) -> Option<Duration> {
        self.repeat
    }

    /// Returns the step at `now`, and the time at which it ends (`None` for never).
    pub fn at(&self, now: Instant) -> (&Step, Option<Instant>) {
        if let [only] = self.steps.as_slice() {
            return (only, None);
        }
        let since = now.since_origin().as_nanos();
        let offset = Duration::from_nanos(match self.repeat {
            Some(repeat) => since % repeat.as_nanos(),
            None => since,
        });
        let base = now - offset;
        let next = self.steps.partition_point(|step| step.at <= offset);
        let end = self.steps.get(next).map(|step| step.at).or(self.repeat);
        (&self.steps[next - 1], end.map(|end| base + end))
    }
}
