//! The comparison of gateways by a mobile host: round trips to its home through the gateway that serves it and through
//! another one, in pairs that leave at the same time, so that both meet the same air and the same queue of this host.
//!
//! The pairs are counted in a cumulative sum (E. S. Page, Continuous inspection schemes, 1954), which knows no unit and
//! no distribution: one that the other gateway wins adds, every other one subtracts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::Cause;

/// Pairs of probes in a round, and the time between two.
const PAIRS: usize = 8;
const SPACING: Duration = Duration::from_millis(100);
/// Time in which echoes are waited for at the end of a round: in round trips, and its limits.
const WAIT_TRIPS: u64 = 3;
const WAIT: Duration = Duration::from_secs(1);
const WAIT_MOST: Duration = Duration::from_secs(5);
/// Time between two rounds with the same gateway.
const REST: Duration = Duration::from_secs(2);
/// Most pairs with the same gateway.
const PAIRS_MOST: u32 = 40 * PAIRS as u32;
/// Time in which there must be keys with the other gateway.
const KEYS: Duration = Duration::from_secs(5);

/// Time from a move until the first comparison. It is the first pause between two, which doubles up to the longest one
/// while no gateway is better; the first pause itself doubles, up to a long stay, with each move that a comparison
/// caused and that did not last so long.
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(120);
const LONG_STAY: Duration = Duration::from_secs(600);
/// Shortest time between two comparisons that a gateway causes.
const WANTED: Duration = Duration::from_secs(15);

/// By so much more than a quarter a round trip must be shorter than the other one to win a pair.
const MARGIN: Duration = Duration::from_millis(5);
/// What a pair adds to the sum. So a gateway without losses is better than one that loses more than a fifth of probes
/// and echoes, if both are as near; and two that lose as much as each other, each at random, are not told apart.
const WIN: i32 = 4;
const TIE: i32 = -1;
const LOSS: i32 = -5;
/// Sum from which the other gateway is better: 20 pairs, if it wins all.
const BETTER: i32 = 20 * WIN;
/// Sum up to which a round leaves hope.
const HOPELESS: i32 = PAIRS as i32 * TIE;

/// What a comparison does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareStep {
    /// It needs another gateway.
    Choose,
    /// A probe with these bits goes through both gateways, first through the other one if this is true.
    Probe(u64, bool),
    /// The other gateway is better.
    Better,
    /// It is not better, or does not answer.
    End,
}

/// Probes through one gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) probes: u32,
    pub(crate) lost: u32,
    total: Duration,
}

impl Tally {
    fn count(&mut self, round_trip: Option<Duration>) {
        self.probes += 1;
        match round_trip {
            Some(time) => self.total += time,
            None => self.lost += 1,
        }
    }

    /// Returns the mean round trip, if there was an echo.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        let echoes = u64::from(self.probes - self.lost);
        (echoes > 0).then(|| self.total / echoes)
    }
}

/// What was measured through a gateway in the last comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonStatus {
    /// Time since its end.
    pub ago: Duration,
    /// Mean round trip to the home of this mobile host, through the gateway; `None` if no probe came back.
    pub round_trip: Option<Duration>,
    /// Number of probes.
    pub probes: u32,
    /// Number of probes that did not come back.
    pub lost: u32,
}

impl ComparisonStatus {
    pub(crate) fn new(ago: Duration, tally: Tally) -> Self {
        Self {
            ago,
            round_trip: tally.round_trip(),
            probes: tally.probes,
            lost: tally.lost,
        }
    }
}

/// Two probes that left at the same time, and their round trips: through the present gateway and the other one.
#[derive(Debug, Clone, Copy)]
struct Pair {
    sent: Instant,
    round_trips: [Option<Duration>; 2],
    /// Time for which one may have waited in the queue of this host's own traffic, which the other gateway would have.
    waited: Duration,
}

impl Pair {
    fn new(sent: Instant) -> Self {
        Self {
            sent,
            round_trips: [None; 2],
            waited: Duration::ZERO,
        }
    }

    fn worth(&self) -> i32 {
        let wins = |one: Duration, other: Duration| one + one / 4 + MARGIN < other;
        match self.round_trips {
            [None, None] => 0,
            [None, Some(_)] => WIN,
            [Some(_), None] => LOSS,
            [Some(present), Some(other)] if wins(other, present.saturating_sub(self.waited)) => WIN,
            [Some(present), Some(other)] if wins(present, other) => LOSS,
            [Some(_), Some(_)] => TIE,
        }
    }
}

/// A comparison with one gateway.
#[derive(Debug)]
struct Comparison {
    with: usize,
    has_keys: bool,
    /// The pairs of this round.
    pairs: Vec<Pair>,
    sum: i32,
    tallies: [Tally; 2],
}

/// State of the comparisons of a mobile host.
#[derive(Debug)]
pub(crate) struct Comparisons {
    /// True if this host compares at all.
    is_on: bool,
    /// True if its user has chosen the gateway that serves it.
    is_held: bool,
    /// Time of the next step; `None` until there is traffic.
    due: Option<Instant>,
    /// True if there was traffic since the last round began.
    has_traffic: bool,
    /// Time of the next comparison, the pause after it, and the first pause.
    next: Instant,
    pause: Duration,
    first_pause: Duration,
    /// Time of the last move that a comparison caused.
    moved: Option<Instant>,
    /// Time of the last comparison that a gateway caused.
    wanted: Option<Instant>,
    /// Number of the next pair, of all comparisons.
    number: u64,
    current: Option<Comparison>,
    /// Index of the gateway that was compared last, or tried because another one was silent.
    pub(crate) last: usize,
}

impl Default for Comparisons {
    fn default() -> Self {
        Self::new(false)
    }
}

impl Comparisons {
    /// Returns no comparison yet, of a host that compares if `is_on`.
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            is_held: false,
            due: None,
            has_traffic: false,
            next: Instant::ZERO + FIRST,
            pause: FIRST,
            first_pause: FIRST,
            moved: None,
            wanted: None,
            number: 0,
            current: None,
            last: 0,
        }
    }

    /// Returns true if this host compares at all.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Compares no more until [`release`](Self::release): the user has chosen.
    pub(crate) fn hold(&mut self) {
        self.is_held = true;
        self.due = None;
    }

    /// Compares again, if the user had chosen.
    pub(crate) fn release(&mut self) {
        self.is_held = false;
    }

    /// Records traffic, without which nothing is measured.
    pub(crate) fn saw_traffic(&mut self, now: Instant) {
        self.has_traffic = true;
        if self.is_on && !self.is_held && self.due.is_none() {
            self.due = Some(self.next.max(now));
        }
    }

    /// Records a change of the hop: the next comparison comes soon.
    pub(crate) fn hasten(&mut self, now: Instant) {
        self.pause = self.first_pause;
        self.next = self.next.min(now + self.first_pause);
        if self.current.is_none() {
            self.due = None;
        }
    }

    /// Begins a comparison at once, if this host is not idle, also if the user had chosen.
    pub(crate) fn begin_now(&mut self, now: Instant) {
        self.release();
        self.begin_next(now);
    }

    fn begin_next(&mut self, now: Instant) {
        self.hasten(now);
        self.next = now;
    }

    /// Begins a comparison at once, as the present gateway wants. It may not have its mobile hosts make keys elsewhere
    /// as often as it likes.
    pub(crate) fn is_wanted(&mut self, now: Instant) {
        let is_soon = self.wanted.is_some_and(|last| now.since(last) < WANTED);
        if !is_soon {
            self.wanted = Some(now);
            self.begin_next(now);
        }
    }

    /// Records a move with this cause, or one to a better gateway that has failed.
    pub(crate) fn moved(&mut self, now: Instant, cause: Cause) {
        if cause == Cause::Silence {
            self.release();
        }
        if cause == Cause::Better {
            let last = self.moved.replace(now);
            let is_soon = last.is_some_and(|last| now.since(last) < LONG_STAY);
            self.first_pause = if is_soon {
                (self.first_pause * 2).min(LONG_STAY)
            } else {
                FIRST
            };
        }
        self.pause = self.first_pause;
        self.next = now + self.first_pause;
        self.due = None;
    }

    /// Returns the time of the next step.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the other gateway of the present comparison.
    pub(crate) fn with(&self) -> Option<usize> {
        self.current.as_ref().map(|current| current.with)
    }

    /// Begins a comparison with a gateway with which there are keys already, or not.
    pub(crate) fn begin(&mut self, now: Instant, with: usize, has_keys: bool) {
        self.due = Some(if has_keys { now } else { now + KEYS });
        self.current = Some(Comparison {
            with,
            has_keys,
            pairs: Vec::new(),
            sum: 0,
            tallies: [Tally::default(); 2],
        });
    }

    /// Notes that there are keys with a gateway.
    pub(crate) fn has_keys(&mut self, now: Instant, with: usize) {
        let current = self.current.as_mut();
        if let Some(current) = current.filter(|current| current.with == with && !current.has_keys) {
            current.has_keys = true;
            self.due = Some(now);
        }
    }

    /// Ends the present comparison; returns its gateway, and what was measured through both, through the present one
    /// first.
    pub(crate) fn end(&mut self, now: Instant) -> Option<(usize, [Tally; 2])> {
        self.due = None;
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST.max(self.first_pause));
        let current = self.current.take()?;
        Some((current.with, current.tallies))
    }

    /// Records an echo that came through the other gateway, or through the present one, where it may have waited for so
    /// long.
    pub(crate) fn echoed(&mut self, now: Instant, is_other: bool, bits: u64, waited: Duration) {
        let Some(current) = &mut self.current else {
            return;
        };
        let first = self.number - current.pairs.len() as u64;
        let place = bits.checked_sub(first);
        if let Some(pair) = place.and_then(|place| current.pairs.get_mut(place as usize)) {
            pair.round_trips[usize::from(is_other)].get_or_insert(now.since(pair.sent));
            pair.waited = pair.waited.max(waited);
        }
    }

    /// Takes the step that is due, on a hop with this round trip.
    pub(crate) fn step(&mut self, now: Instant, round_trip: Duration) -> Option<CompareStep> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        let Some(current) = &mut self.current else {
            return Some(CompareStep::Choose);
        };
        let begins_round = current.pairs.is_empty();
        if !current.has_keys || (begins_round && !std::mem::take(&mut self.has_traffic)) {
            return Some(CompareStep::End);
        }
        if current.pairs.len() < PAIRS {
            current.pairs.push(Pair::new(now));
            let wait = (round_trip * WAIT_TRIPS).clamp(WAIT, WAIT_MOST);
            let is_last = current.pairs.len() == PAIRS;
            self.due = Some(now + if is_last { wait } else { SPACING });
            let number = self.number;
            self.number += 1;
            // On a slow hop the second one of a pair waits for the first.
            return Some(CompareStep::Probe(number, number.is_multiple_of(2)));
        }
        let step = current.judge();
        if step.is_none() {
            self.due = Some(now + REST);
        }
        step
    }
}

impl Comparison {
    /// Ends a round; returns the result, if there is one already.
    fn judge(&mut self) -> Option<CompareStep> {
        let mut is_answered = false;
        for pair in self.pairs.drain(..) {
            is_answered |= pair.round_trips != [None; 2];
            self.sum += pair.worth();
            for (tally, round_trip) in self.tallies.iter_mut().zip(pair.round_trips) {
                tally.count(round_trip);
            }
        }
        if self.sum >= BETTER {
            return Some(CompareStep::Better);
        }
        let goes_on = is_answered && self.sum > HOPELESS && self.tallies[0].probes < PAIRS_MOST;
        (!goes_on).then_some(CompareStep::End)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Option<Duration> = Some(Duration::from_millis(20));
    const FAR: Option<Duration> = Some(Duration::from_millis(32));

    /// Returns the result of a comparison, and its number of pairs; `pair` is the round trips of each, through the
    /// present gateway and through the other one, and `waited` the wait in the queue of this host's traffic.
    fn compare(
        waited: Duration,
        pair: impl Fn(usize) -> [Option<Duration>; 2],
    ) -> (CompareStep, usize) {
        let mut comparisons = Comparisons::new(true);
        comparisons.begin(Instant::ZERO, 2, true);
        let mut count = 0;
        loop {
            let now = comparisons.due().expect("a step");
            comparisons.saw_traffic(now);
            match comparisons.step(now, Duration::ZERO) {
                Some(CompareStep::Probe(bits, _)) => {
                    for (round_trip, is_other) in pair(count).into_iter().zip([false, true]) {
                        if let Some(time) = round_trip {
                            comparisons.echoed(now + time, is_other, bits, waited);
                        }
                    }
                    count += 1;
                }
                Some(result) => return (result, count),
                None => {}
            }
        }
    }

    #[test]
    fn a_gateway_wins_by_the_margin_and_not_by_less() {
        let none = Duration::ZERO;
        assert_eq!(compare(none, |_| [FAR, NEAR]), (CompareStep::Better, 24));
        assert_eq!(compare(none, |_| [NEAR, NEAR]), (CompareStep::End, 8));
        assert_eq!(compare(none, |_| [NEAR, FAR]), (CompareStep::End, 8));
        let margin = NEAR.map(|near| near + near / 4 + MARGIN);
        assert_eq!(compare(none, |_| [margin, NEAR]), (CompareStep::End, 8));
        assert_eq!(compare(none, |_| [None, None]), (CompareStep::End, 8));
        // The queue of its own traffic speaks for no other gateway, and not against the present one.
        let waited = Duration::from_millis(2);
        assert_eq!(compare(waited, |_| [FAR, NEAR]), (CompareStep::End, 8));
        assert_eq!(compare(waited, |_| [NEAR, FAR]), (CompareStep::End, 8));
    }

    #[test]
    fn losses_of_more_than_a_fifth_are_worse_than_none() {
        let loses = |one_of: usize, pair: usize| NEAR.filter(|_| !pair.is_multiple_of(one_of));
        let none = Duration::ZERO;
        let of_present = |one_of| compare(none, |pair| [loses(one_of, pair), NEAR]).0;
        assert_eq!(of_present(4), CompareStep::Better);
        assert_eq!(of_present(6), CompareStep::End);
        // Both lose half, at other times.
        let both = compare(none, |pair| [loses(2, pair), loses(2, pair + 1)]);
        assert_eq!(both.0, CompareStep::End);
    }

    #[test]
    fn a_gateway_that_wants_to_be_compared_all_the_time_is_not() {
        let mut comparisons = Comparisons::new(true);
        let mut begun = Vec::new();
        for millis in 0..40_000 {
            let now = Instant::from_millis(millis);
            comparisons.is_wanted(now);
            comparisons.saw_traffic(now);
            if comparisons.step(now, Duration::ZERO) == Some(CompareStep::Choose) {
                begun.push(millis / 1_000);
                comparisons.end(now);
            }
        }
        assert_eq!(begun, [0, 10, 15, 25, 30]);
        // Nor does it undo what the user has chosen.
        comparisons.hold();
        comparisons.is_wanted(Instant::from_millis(90_000));
        comparisons.saw_traffic(Instant::from_millis(90_000));
        assert_eq!(comparisons.due(), None);
    }

    #[test]
    fn pauses_double_until_the_hop_changes() {
        let mut comparisons = Comparisons::new(true);
        let mut now = Instant::ZERO;
        let mut pauses = Vec::new();
        for _ in 0..6 {
            comparisons.saw_traffic(now);
            let due = comparisons.due().expect("a comparison");
            pauses.push(due.since(now).as_millis() / 1_000);
            now = due;
            let step = comparisons.step(now, Duration::ZERO);
            assert_eq!(step, Some(CompareStep::Choose));
            comparisons.end(now);
        }
        assert_eq!(pauses, [10, 10, 20, 40, 80, 120]);
        comparisons.hasten(now);
        comparisons.saw_traffic(now);
        assert_eq!(comparisons.due(), Some(now + FIRST));
        comparisons.hold();
        comparisons.saw_traffic(now);
        assert_eq!(comparisons.due(), None);
    }
}
