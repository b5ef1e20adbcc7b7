//! The machine.

mod news;

use std::collections::VecDeque;

use machine::Machine;
use units::{BitRate, Bytes, Duration, Instant};

use crate::evidence::Evidence;
use crate::ladder::{Known, USUAL};
use crate::round::{Round, Timing, Verdict};
use crate::{BASE, Config, Input, LEAST, Output};

/// Time that a result holds before longer packets are tried again (RFC 8899 §5.1.1, `PMTU_RAISE_TIMER`); then the
/// same after the path MTU has decreased: it may soon increase again.
const RAISE: Duration = Duration::from_secs(600);
const RAISE_AFTER_HOLE: Duration = Duration::from_secs(60);
/// Number of probes of a search that are sent as soon as possible, so that it takes few round trips.
const PROMPT: u8 = 6;
/// Divisor of the hop's rate, or of a slow hop's while the rate is unknown: the other probes take at most that share.
const SHARE: u64 = 10;
const SLOW: BitRate = BitRate::from_megabits(1);
/// Longest time that a probe beyond the usual length may occupy the hop.
const HOLD: Duration = Duration::from_millis(20);
/// Least time between two doubts of a length.
const DOUBT_INTERVAL: Duration = Duration::from_millis(500);
/// Limits of the time between the tries of a doubted length, which is an eighth of a round trip: a short fade shall
/// hit at most one.
const SPACING: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(40));
/// Limits of the interval of short packets in a silence, which is half a round trip.
const SHORT_INTERVAL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Timing that is assumed before the first round trip.
const UNKNOWN: Timing = Timing {
    smoothed: Duration::from_millis(333),
    patience: Duration::from_millis(1_332),
};
/// Number of lost tries that are remembered: they may only be late.
const REMEMBERED: usize = 8;

/// State of the search (RFC 8899 §5.2).
#[derive(Debug, Clone)]
enum Phase {
    /// No search yet: no longer packets are wanted, or no round trip is known.
    Base,
    /// A longer length is tried.
    Search(Round),
    /// The search rests until that time, unless the hop turns out to be fast enough for packets longer than `reach`.
    Complete { until: Instant, reach: usize },
    /// The present length is tried, since there is evidence that it no longer passes.
    Doubt(Round),
}

/// Limits on the rate of probes and other actions.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    /// Number of probes that may be sent without waiting.
    prompt: u8,
    next_probe: Instant,
    next_doubt: Instant,
    next_hearing: Instant,
}

/// State of a silence: no packets get through.
#[derive(Debug, Clone, Copy)]
struct Silence {
    since: Instant,
    next_short: Instant,
}

/// Hints about the path, which are tried first.
#[derive(Debug, Clone, Copy, Default)]
struct Hints {
    said: Option<usize>,
    /// A step above the hint: if that fails, the search is complete.
    beyond: Option<usize>,
    /// Length that passed before.
    former: Option<usize>,
}

/// The path MTU of one direction.
#[derive(Debug, Clone)]
pub struct PathMtu {
    config: Config,
    length: usize,
    fails: Option<usize>,
    hopes: Hints,
    phase: Phase,
    /// True if the search has found `length` as the path MTU.
    found: bool,
    wanted: bool,
    evidence: Evidence,
    silence: Option<Silence>,
    late: VecDeque<(u64, usize)>,
    air: AirUse,
    outputs: VecDeque<Output>,
}

/// Limits on the airtime of probes, and the timing of their answers.
#[derive(Debug, Clone, Copy, Default)]
struct AirUse {
    rate: Option<BitRate>,
    timing: Option<Timing>,
    pace: Pace,
    /// Set if the path MTU was larger before.
    fell: bool,
}

impl PathMtu {
    /// Returns the state of an unknown path.
    pub fn new(config: Config) -> Self {
        let config = Config {
            start: config.start.min(config.bound),
            ..config
        };
        Self {
            length: config.start,
            config,
            fails: None,
            hopes: Hints::default(),
            phase: Phase::Base,
            found: false,
            wanted: false,
            evidence: Evidence::default(),
            silence: None,
            late: VecDeque::new(),
            air: AirUse::default(),
            outputs: VecDeque::new(),
        }
    }

    /// Returns the maximum length of packets now.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the path MTU, if the search has found it.
    pub fn found(&self) -> Option<usize> {
        self.found.then_some(self.length)
    }

    /// Returns the time from which on [`Input::AirFree`] is useful, or none if it is not.
    pub fn air_wanted_from(&self) -> Option<Instant> {
        let probe = match &self.phase {
            Phase::Base | Phase::Complete { .. } => None,
            // A silence allows no conclusions.
            Phase::Search(_) if self.silence.is_some() => None,
            Phase::Search(round) => round.next_at().map(|at| at.max(self.air.pace.next_probe)),
            Phase::Doubt(round) => round.next_at(),
        };
        machine::earlier(probe, self.silence.map(|silence| silence.next_short))
    }

    /// Returns the numbers of packets whose arrival must be reported; each is reported once and is then no longer
    /// included.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let round = match &self.phase {
            Phase::Base | Phase::Complete { .. } => None,
            Phase::Search(round) | Phase::Doubt(round) => Some(round.numbers()),
        };
        let late = self.late.iter().map(|(number, _)| *number);
        round.into_iter().flatten().chain(late)
    }

    fn timing(&self) -> Timing {
        self.air.timing.unwrap_or(UNKNOWN)
    }

    /// Returns the length that is used while longer packets get lost.
    fn base(&self) -> usize {
        BASE.min(self.config.bound)
    }

    fn known(&self) -> Known {
        let most = self.air.rate.map_or(0, |rate| rate.bytes_in(HOLD).get());
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(USUAL);
        Known {
            passes: self.length,
            fails: self.fails,
            bound: self.config.bound.min(most),
        }
    }

    /// Tries the next length, or rests if there is none.
    fn search(&mut self, now: Instant) {
        let known = self.known();
        let Hints {
            said,
            beyond,
            former,
        } = &mut self.hopes;
        let hope = |hope: &mut Option<usize>| hope.take().filter(|length| known.is_open(*length));
        let next = hope(said)
            .or_else(|| hope(beyond))
            .or_else(|| hope(former))
            .or_else(|| known.next());
        self.phase = match next {
            Some(length) => Phase::Search(Round::hopeful(length, now)),
            None => self.rest(now, known.bound),
        };
    }

    fn rest(&mut self, now: Instant, reach: usize) -> Phase {
        self.found = true;
        self.wanted = false;
        let rest = if self.air.fell {
            RAISE_AFTER_HOLE
        } else {
            RAISE
        };
        let until = now + rest;
        Phase::Complete { until, reach }
    }

    /// Starts again at `length`, on a path that may have changed.
    fn restart(&mut self, now: Instant, length: usize) {
        self.length = length;
        self.found = false;
        self.fails = None;
        self.evidence = Evidence::default();
        self.phase = Phase::Base;
        self.air.pace.prompt = PROMPT;
        self.late.clear();
        self.begin(now);
    }

    /// Begins a search if it is useful.
    fn begin(&mut self, now: Instant) {
        match &self.phase {
            Phase::Base if self.wanted && self.air.timing.is_some() => {
                self.air.pace.prompt = PROMPT;
                self.search(now);
            }
            Phase::Complete { until, reach } => {
                let bound = self.known().bound;
                let further = bound >= 2 * *reach || (bound > *reach && bound == self.config.bound);
                if self.wanted && (now >= *until || further) {
                    self.fails = self.fails.filter(|_| now < *until);
                    self.air.fell = false;
                    self.air.pace.prompt = PROMPT;
                    self.search(now);
                }
            }
            Phase::Base | Phase::Search(_) | Phase::Doubt(_) => {}
        }
    }

    /// Begins to test if the present length still passes.
    fn doubt(&mut self, now: Instant) {
        self.evidence = Evidence::default();
        if now < self.air.pace.next_doubt || matches!(self.phase, Phase::Doubt(_)) {
            return;
        }
        let cost = self.air.rate.map_or(Duration::ZERO, |rate| {
            rate.time_for(Bytes::from(self.length)) * (3 * SHARE)
        });
        self.air.pace.next_doubt = now + cost.max(DOUBT_INTERVAL);
        self.phase = Phase::Doubt(Round::doubtful(self.length, now));
    }

    fn air_free(&mut self, now: Instant) {
        let round = match &self.phase {
            Phase::Base | Phase::Complete { .. } => None,
            Phase::Search(_) if self.silence.is_some() => None,
            Phase::Search(round) => round
                .next_at()
                .filter(|at| (*at).max(self.air.pace.next_probe) <= now)
                .map(|_| round.length),
            Phase::Doubt(round) => round
                .next_at()
                .filter(|at| *at <= now)
                .map(|_| round.length),
        };
        let interval = (self.timing().smoothed / 2).clamp(SHORT_INTERVAL.0, SHORT_INTERVAL.1);
        if let Some(length) = round {
            self.outputs.push_back(Output::Probe(length));
        } else if let Some(silence) = &mut self.silence
            && silence.next_short <= now
        {
            let lasted = now.since(silence.since);
            let interval = (lasted / 8).clamp(interval, SHORT_INTERVAL.1);
            silence.next_short = now + interval;
            self.outputs.push_back(Output::Short);
        }
    }

    fn sent(&mut self, now: Instant, number: u64) {
        let timing = self.timing();
        let AirUse { rate, pace, .. } = &mut self.air;
        match &mut self.phase {
            Phase::Base | Phase::Complete { .. } => {}
            Phase::Search(round) => {
                if pace.prompt > 0 {
                    pace.prompt -= 1;
                } else {
                    let cost = rate.unwrap_or(SLOW).time_for(Bytes::from(round.length));
                    pace.next_probe = now + cost * SHARE;
                }
                round.sent(now, number, Duration::ZERO);
            }
            Phase::Doubt(round) => {
                let spacing = (timing.smoothed / 8).clamp(SPACING.0, SPACING.1);
                round.sent(now, number, spacing);
            }
        }
    }

    fn arrived(&mut self, now: Instant, number: u64) {
        let verdict = match &mut self.phase {
            Phase::Base | Phase::Complete { .. } => Verdict::Open,
            Phase::Search(round) | Phase::Doubt(round) => round.arrived(now, number),
        };
        self.conclude(now, verdict);
        let late = self.late.iter().position(|(late, _)| *late == number);
        let late = late.and_then(|place| self.late.remove(place));
        if let Some((_, length)) = late.filter(|(_, length)| *length > self.length) {
            self.passes(now, length);
        }
    }

    fn judge(&mut self, now: Instant) {
        let timing = self.timing();
        let late = &mut self.late;
        let verdict = match &mut self.phase {
            Phase::Base | Phase::Complete { .. } => Verdict::Open,
            Phase::Search(round) | Phase::Doubt(round) => {
                let length = round.length;
                round.judge(now, &timing, |number| {
                    late.truncate(REMEMBERED - 1);
                    late.push_front((number, length));
                })
            }
        };
        self.conclude(now, verdict);
    }

    fn conclude(&mut self, now: Instant, verdict: Verdict) {
        let length = match &self.phase {
            Phase::Base | Phase::Complete { .. } => return,
            Phase::Search(round) | Phase::Doubt(round) => round.length,
        };
        match verdict {
            Verdict::Open => {}
            Verdict::Passes => self.passes(now, length),
            Verdict::Fails => self.fails(now, length),
        }
    }

    fn passes(&mut self, now: Instant, length: usize) {
        self.length = self.length.max(length);
        self.fails = self.fails.filter(|fails| *fails > self.length);
        self.evidence = Evidence::default();
        self.search(now);
    }

    /// Notes that `length` does not pass: a search continues below; if it is the length in use, the base is used
    /// instead.
    fn fails(&mut self, now: Instant, length: usize) {
        self.fails = Some(self.fails.map_or(length, |fails| fails.min(length)));
        if length <= self.length {
            let base = self.base();
            let below = if length > base { base } else { LEAST };
            self.length = below.min(self.length);
            self.evidence = Evidence::default();
            self.found = false;
            self.air.fell = true;
            self.air.pace.prompt = PROMPT;
        }
        self.search(now);
    }

    fn fate(&mut self, now: Instant, length: usize, sent_at: Instant, arrived: bool) {
        if arrived {
            self.silence = None;
            self.evidence.arrived(length);
            let proves = |round: &Round| length >= round.length && sent_at >= round.begun_at;
            if matches!(&self.phase, Phase::Doubt(round) if proves(round)) {
                self.passes(now, length);
            }
            return;
        }
        // A longer packet was sent before the length was changed.
        if length > LEAST && length <= self.length {
            self.evidence.lost(length);
        }
    }

    fn silent(&mut self, now: Instant) {
        if self.length > LEAST {
            let silence = Silence {
                since: now,
                next_short: now,
            };
            self.silence.get_or_insert(silence);
        }
    }
}

impl Machine for PathMtu {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Wanted => {
                self.wanted = true;
                self.begin(now);
            }
            Input::RoundTrip { smoothed, patience } => {
                self.air.timing = Some(Timing { smoothed, patience });
                self.begin(now);
            }
            Input::Rate(rate) => {
                self.air.rate = Some(rate);
                self.begin(now);
            }
            Input::AirFree => self.air_free(now),
            Input::Sent(number) => self.sent(now, number),
            Input::Arrived(number) => self.arrived(now, number),
            Input::Fate {
                length,
                sent_at,
                arrived,
            } => {
                self.fate(now, length, sent_at, arrived);
                if self.evidence.is_strong() {
                    self.doubt(now);
                }
            }
            Input::Silence => self.silent(now),
            Input::News(news) => self.hear(now, news),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.judge(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Base | Phase::Complete { .. } => None,
            Phase::Search(round) | Phase::Doubt(round) => round.due_at(&self.timing()),
        }
    }
}
