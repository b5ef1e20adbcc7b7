//! A random rate process, as moments at which a packet may leave.

use std::sync::Arc;

use machine::RandomStream;
use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::Direction;
use crate::opportunities::OPPORTUNITY;
use crate::problem::Problem;

const NANOS: u64 = 1_000_000_000;
/// Work of one opportunity, in 10⁻⁹ bit.
const WORK: u64 = OPPORTUNITY.get() * 8 * NANOS;
/// Highest rate, in bit/s: after a pause, one second of it is drawn at once.
const RATE_MAX: u64 = 2_000_000_000;
const STATES_MAX: usize = 64;
/// Shortest time between changes of the rate, so that a machine catches up quickly after a long time without calls.
const SHORTEST: Duration = Duration::from_millis(1);
/// Interval whose Poisson opportunities are drawn from a stream of their own, so that they do not depend on the
/// traffic.
const SLOT: Duration = Duration::from_secs(1);

/// Model of the changes of a rate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum ProcessConfig {
    /// States with a rate each, held for exponentially distributed times; the next state is uniform among the others.
    Markov(MarkovRateConfig),
    /// A rate that is repeatedly multiplied or divided by the same factor, as cellular links are.
    Walk(WalkConfig),
}

/// Parameters of a rate with states.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkovRateConfig {
    /// The states; the process begins in the first.
    pub states: Vec<RateStateConfig>,
    /// Distribution of the opportunities.
    #[serde(default)]
    pub chances: Chances,
}

/// A state of a rate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStateConfig {
    /// The rate; zero for an outage.
    pub rate: BitRate,
    /// Mean time in this state.
    pub hold: Duration,
}

/// Parameters of a random walk.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkConfig {
    /// Rate at the beginning.
    pub start: BitRate,
    /// Lowest rate.
    pub least: BitRate,
    /// Highest rate.
    pub most: BitRate,
    /// Time from one change to the next.
    pub every: Duration,
    /// Relative size of a change: up by this fraction, or down so that a change up would undo it, equally likely.
    pub change: Probability,
    /// Distribution of the opportunities.
    #[serde(default)]
    pub chances: Chances,
}

/// Distribution of the moments at which packets may leave at a given rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chances {
    /// At exponentially distributed intervals, as in recorded traces of cellular links.
    #[default]
    Poisson,
    /// At equal intervals.
    Even,
}

impl ProcessConfig {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let fits = |rate: BitRate| rate.bits_per_second() <= RATE_MAX;
        match self {
            Self::Markov(config) => {
                if config.states.is_empty() || config.states.len() > STATES_MAX {
                    let text = format!("give 1 to {STATES_MAX} states");
                    return Err(Problem::new("states", text));
                }
                for (number, state) in config.states.iter().enumerate() {
                    let problem = |key: &str, text: &str| {
                        Problem::new(key, text).within(&format!("states[{number}]"))
                    };
                    if !fits(state.rate) {
                        return Err(problem("rate", "must be at most 2 Gbit/s"));
                    }
                    if state.hold < SHORTEST {
                        return Err(problem("hold", "must be at least 1 ms"));
                    }
                }
                let moves = |state: &RateStateConfig| state.rate.bits_per_second() > 0;
                if !config.states.iter().any(moves) {
                    return Err(Problem::new(
                        "states",
                        "one at least needs a rate above zero",
                    ));
                }
            }
            Self::Walk(config) => {
                let (least, most) = (config.least, config.most);
                if least.bits_per_second() == 0 || !fits(most) || least > most {
                    let text = "must lie above zero, and `most` between it and 2 Gbit/s";
                    return Err(Problem::new("least", text));
                }
                if !(least..=most).contains(&config.start) {
                    return Err(Problem::new("start", "must lie between `least` and `most`"));
                }
                if config.every < SHORTEST {
                    return Err(Problem::new("every", "must be at least 1 ms"));
                }
            }
        }
        Ok(())
    }

    fn chances(&self) -> Chances {
        match self {
            Self::Markov(config) => config.chances,
            Self::Walk(config) => config.chances,
        }
    }
}

/// Course of the rate, drawn from the seed alone.
#[derive(Debug, Clone)]
struct Path {
    stream: RandomStream,
    state: usize,
    rate: u64,
    until: Instant,
}

impl Path {
    fn new(config: &ProcessConfig, stream: RandomStream) -> Self {
        let mut path = Self {
            stream,
            state: 0,
            rate: 0,
            until: Instant::ZERO,
        };
        match config {
            ProcessConfig::Markov(config) => path.hold(config),
            ProcessConfig::Walk(config) => {
                path.rate = config.start.bits_per_second();
                path.until = Instant::ZERO + config.every;
            }
        }
        path
    }

    fn hold(&mut self, config: &MarkovRateConfig) {
        let state = &config.states[self.state];
        let nanos = self.stream.exponential(state.hold.as_nanos()).max(1);
        self.rate = state.rate.bits_per_second();
        self.until += Duration::from_nanos(nanos);
    }

    fn advance(&mut self, config: &ProcessConfig) {
        match config {
            ProcessConfig::Markov(config) => {
                let others = config.states.len() as u64 - 1;
                if others > 0 {
                    let next = self.stream.below(others) as usize;
                    self.state = if next < self.state { next } else { next + 1 };
                }
                self.hold(config);
            }
            ProcessConfig::Walk(config) => {
                // In units of 2⁻³².
                let one = 1_u128 << 32;
                let more = one + u128::from(change_of(config.change));
                let rate = u128::from(self.rate);
                let next = if self.stream.below(2) == 0 {
                    rate * more / one
                } else {
                    rate * one / more
                };
                let (least, most) = (config.least, config.most);
                let bounds = (least.bits_per_second(), most.bits_per_second());
                let next = u64::try_from(next).unwrap_or(u64::MAX);
                self.rate = next.clamp(bounds.0, bounds.1);
                self.until += config.every;
            }
        }
    }
}

/// Returns a probability in units of 2⁻³².
fn change_of(change: Probability) -> u64 {
    let (mut low, mut high) = (0_u64, 1 << 32);
    while low < high {
        let middle = u64::midpoint(low, high);
        if change.covers(middle << 32) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The opportunities that a rate process gives, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    config: Arc<ProcessConfig>,
    seed: u64,
    direction: Direction,
    path: Path,
    /// Random stream of the current slot.
    draws: RandomStream,
    slot: u64,
    /// Time up to which everything is drawn.
    at: Instant,
    /// Work left until the next opportunity, in 10⁻⁹ bit.
    pending: u64,
    upcoming: Instant,
}

impl Process {
    pub(crate) fn new(config: &Arc<ProcessConfig>, seed: u64, direction: Direction) -> Self {
        let stream = RandomStream::named(seed, &format!("channel/rate/{direction}"));
        let mut process = Self {
            config: Arc::clone(config),
            seed,
            direction,
            path: Path::new(config, stream),
            draws: draws(seed, direction, 0),
            slot: 0,
            at: Instant::ZERO,
            pending: 0,
            upcoming: Instant::ZERO,
        };
        process.pending = process.draw();
        process.advance();
        process
    }

    /// Returns the time of the next opportunity.
    pub(crate) fn upcoming(&self) -> Instant {
        self.upcoming
    }

    fn draw(&mut self) -> u64 {
        match self.config.chances() {
            Chances::Poisson => self.draws.exponential(WORK),
            Chances::Even => WORK,
        }
    }

    /// Advances to the opportunity after the next one, which was used or skipped.
    pub(crate) fn advance(&mut self) {
        loop {
            let end = self.path.until.min(self.slot_end());
            let room = end.since(self.at).as_nanos();
            let needed = self
                .pending
                .checked_div(self.path.rate)
                .map(|whole| whole + u64::from(!self.pending.is_multiple_of(self.path.rate)));
            if let Some(needed) = needed.filter(|needed| *needed <= room) {
                self.at += Duration::from_nanos(needed);
                self.upcoming = self.at;
                // Work that the last nanosecond did beyond it counts for the next one.
                let beyond = self.path.rate * needed - self.pending;
                self.pending = self.draw().saturating_sub(beyond);
                return;
            }
            self.pending = self.pending.saturating_sub(self.path.rate * room);
            self.at = end;
            self.cross();
        }
    }

    fn slot_end(&self) -> Instant {
        Instant::ZERO + SLOT * (self.slot + 1)
    }

    /// Continues after the end of an interval of one rate, or of a slot.
    fn cross(&mut self) {
        while self.path.until <= self.at {
            self.path.advance(&self.config);
        }
        if self.at >= self.slot_end() {
            self.begin_slot(self.slot + 1);
        }
    }

    fn begin_slot(&mut self, slot: u64) {
        self.slot = slot;
        if self.config.chances() == Chances::Poisson {
            self.draws = draws(self.seed, self.direction, slot);
            self.pending = self.draw();
        }
    }

    /// Skips all opportunities before `now`.
    pub(crate) fn skip_to(&mut self, now: Instant) {
        let slot = now.since_origin().as_nanos() / SLOT.as_nanos();
        if slot > self.slot + 1 && self.upcoming < now {
            let start = Instant::ZERO + SLOT * slot;
            while self.path.until <= start {
                self.pass(self.path.until);
                self.path.advance(&self.config);
            }
            self.pass(start);
            self.begin_slot(slot);
            self.advance();
        }
        while self.upcoming < now {
            self.advance();
        }
    }

    /// Advances to `end` at one rate, past the opportunities until then.
    fn pass(&mut self, end: Instant) {
        let work = u128::from(self.path.rate) * u128::from(end.since(self.at).as_nanos());
        let done = (work % u128::from(WORK)) as u64;
        let left = self.pending.checked_sub(done).filter(|left| *left > 0);
        self.pending = left.unwrap_or((self.pending + WORK).saturating_sub(done));
        self.at = end;
    }

    /// Returns the bytes that pass from `start` to before `end`.
    pub(crate) fn carried(mut self, start: Instant, end: Instant) -> Bytes {
        self.skip_to(start);
        let mut carried = Bytes::ZERO;
        while self.upcoming < end {
            carried += OPPORTUNITY;
            self.advance();
        }
        carried
    }
}

fn draws(seed: u64, direction: Direction, slot: u64) -> RandomStream {
    RandomStream::named(seed, &format!("channel/chances/{direction}/{slot}"))
}
