//! The validation of ECN on the way to the other end, as in RFC 9000 §13.4.2, for a hop.
//!
//! Networks clear the field, set it on everything, or drop packets that have it set. So a flight of ECN-capable
//! frames is sent first, and further frames are ECN-capable only if the other end's counts show that it came through;
//! each count is checked afterwards. A peer that reports false counts only makes frames not ECN-capable, and queues
//! drop those instead of marking them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::hop::EcnCounts;
use wire::ip::Ecn;

/// Number of frames in a flight that tests the hop.
const FLIGHT: u8 = 10;
/// Number of flights before the test is given up.
const FLIGHTS: u8 = 3;
/// Most time for the answer to a flight.
const ANSWER: Duration = Duration::from_secs(30);
/// Time until the next test.
const REST: Duration = Duration::from_secs(600);
/// Time without arrivals after which the hop may be another, or drop ECN-capable frames.
const SILENCE: Duration = Duration::from_secs(1);
/// Time, and number of frames, within which the other end must report its counts.
const TOLD: Duration = Duration::from_secs(5);
const TOLD_FRAMES: u64 = 256;
/// Time, and number of frames, after which marks carry no information if every frame is marked.
const EVERY_ONE: Duration = Duration::from_secs(1);
const EVERY_ONE_FRAMES: u64 = 32;

/// State of ECN for frames to the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EcnAbility {
    /// Being tested.
    #[default]
    Testing,
    /// Frames are ECN-capable, and marks come through.
    Able,
    /// Frames are not ECN-capable: marks do not come through, or carry no information.
    Unable,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A flight is being sent.
    Testing(Flight),
    /// The flight was sent at this time, and its answer is awaited.
    Waiting(Flight, Instant),
    Able,
    /// No ECN until this time.
    Unable(Instant),
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    /// Its number, from 1.
    number: u8,
    /// Frames left to send.
    left: u8,
    /// Frames that had arrived before it.
    arrived: u64,
}

/// The latest counts that the other end reported.
#[derive(Debug, Default)]
struct Report {
    counts: EcnCounts,
    /// Frames known to have arrived at that time.
    arrived: u64,
    /// Highest transmission of that acknowledgement.
    largest: u64,
    /// Time of its arrival.
    at: Instant,
}

/// State of congestion marks on the way to the other end.
#[derive(Debug)]
pub(crate) struct SentMarks {
    state: State,
    /// ECN-capable frames sent since the test began, and those of them that are known to have arrived.
    sent: u64,
    arrived: u64,
    /// Counts of the other end when the test began.
    base: EcnCounts,
    latest: Report,
    /// Time since which every frame was marked, and their number.
    every_one: Option<(Instant, u64)>,
    /// Time since which nothing comes through.
    silent_since: Option<Instant>,
    /// Counts of marks and arrivals at the last judgement.
    judged: (u64, u64),
    /// Marks not reported yet, and all marks.
    news: u64,
    marked: u64,
}

impl Default for SentMarks {
    fn default() -> Self {
        Self {
            state: State::Testing(Flight::first(0)),
            sent: 0,
            arrived: 0,
            base: EcnCounts::default(),
            latest: Report::default(),
            every_one: None,
            silent_since: None,
            judged: (0, 0),
            news: 0,
            marked: 0,
        }
    }
}

impl Flight {
    fn first(arrived: u64) -> Self {
        Self {
            number: 1,
            left: FLIGHT,
            arrived,
        }
    }
}

impl SentMarks {
    /// Returns the state of ECN.
    pub(crate) fn ability(&self) -> EcnAbility {
        match self.state {
            State::Testing(_) | State::Waiting(..) => EcnAbility::Testing,
            State::Able => EcnAbility::Able,
            State::Unable(_) => EcnAbility::Unable,
        }
    }

    /// Returns the number of frames that were marked, as far as the counts are plausible.
    pub(crate) fn marked(&self) -> u64 {
        self.marked
    }

    /// Returns the number of marks since the last call.
    pub(crate) fn take_news(&mut self) -> u64 {
        std::mem::take(&mut self.news)
    }

    /// Returns the ECN field of a frame that is sent now and requests an acknowledgement.
    pub(crate) fn send(&mut self, now: Instant) -> Ecn {
        let silent = |since| now.since(since) > SILENCE;
        if self.silent_since.is_some_and(silent) {
            return Ecn::NotCapable;
        }
        match &mut self.state {
            State::Testing(flight) => {
                flight.left -= 1;
                if flight.left == 0 {
                    self.state = State::Waiting(*flight, now);
                }
            }
            State::Waiting(flight, since) if now.since(*since) > ANSWER => {
                if flight.number == FLIGHTS {
                    self.give_up(now);
                    return Ecn::NotCapable;
                }
                self.state = State::Testing(Flight {
                    number: flight.number + 1,
                    left: FLIGHT - 1,
                    arrived: self.arrived,
                });
            }
            State::Able => {}
            State::Unable(until) if now >= *until => {
                self.base = self.latest.counts;
                (self.sent, self.arrived, self.latest.arrived) = (0, 0, 0);
                self.judged = (self.latest.counts.marked, 0);
                let left = FLIGHT - 1;
                self.state = State::Testing(Flight {
                    left,
                    ..Flight::first(0)
                });
            }
            State::Waiting(..) | State::Unable(_) => return Ecn::NotCapable,
        }
        self.sent += 1;
        Ecn::Capable0
    }

    /// Records that frames were presumed lost: nothing comes through.
    pub(crate) fn silent(&mut self, now: Instant) {
        self.silent_since.get_or_insert(now);
    }

    /// Records the arrival of a frame; `capable` if it was sent ECN-capable.
    pub(crate) fn arrived(&mut self, now: Instant, capable: bool) {
        self.arrived += u64::from(capable);
        let was_silent = self.silent_since.take();
        let for_long = was_silent.is_some_and(|since| now.since(since) > SILENCE);
        if for_long && matches!(self.state, State::Able | State::Testing(_)) {
            self.state = State::Testing(Flight::first(self.arrived));
        }
        let untold = self.arrived.saturating_sub(self.latest.arrived);
        let is_told = untold < TOLD_FRAMES || now.since(self.latest.at) < TOLD;
        if matches!(self.state, State::Able) && !is_told {
            self.give_up(now);
        }
    }

    /// Checks the counts in an acknowledgement of transmissions up to `largest`.
    pub(crate) fn counted(&mut self, now: Instant, largest: u64, counts: EcnCounts) {
        let is_less = counts.capable < self.latest.counts.capable
            || counts.marked < self.latest.counts.marked;
        if largest < self.latest.largest || (is_less && largest == self.latest.largest) {
            // It was overtaken by a later one.
            return;
        }
        self.latest.largest = largest;
        self.latest.at = now;
        if is_less {
            self.give_up(now);
            return;
        }
        let before = self.latest.counts;
        self.latest.counts = counts;
        self.latest.arrived = self.arrived;
        if matches!(self.state, State::Unable(_)) {
            return;
        }
        let total = counts.total().saturating_sub(self.base.total());
        let marked = counts.marked - before.marked;
        let news = counts.total().saturating_sub(before.total());
        let is_sound = (self.arrived..=self.sent).contains(&total);
        if !is_sound || self.says_nothing(now, marked, news) {
            self.give_up(now);
            return;
        }
        if let State::Testing(flight) | State::Waiting(flight, _) = &self.state {
            // A flight that is wholly marked proves no more than one that is not marked.
            if self.arrived == flight.arrived || self.every_one.is_some() {
                return;
            }
            self.state = State::Able;
        }
        // At most as many marks count as frames were newly acknowledged.
        let (marked, arrived) = self.judged;
        self.judged = (counts.marked, self.arrived);
        let believed = (counts.marked - marked).min(self.arrived.saturating_sub(arrived));
        self.news += believed;
        self.marked += believed;
    }

    /// Returns true if every frame is marked, so that marks carry no information.
    fn says_nothing(&mut self, now: Instant, marked: u64, news: u64) -> bool {
        if marked < news {
            self.every_one = None;
        } else if news > 0 {
            let (_, frames) = self.every_one.get_or_insert((now, 0));
            *frames += news;
        }
        let tested = !matches!(self.state, State::Able);
        self.every_one.is_some_and(|(since, frames)| {
            let in_test = tested && frames >= u64::from(FLIGHT);
            in_test || (frames >= EVERY_ONE_FRAMES && now.since(since) >= EVERY_ONE)
        })
    }

    fn give_up(&mut self, now: Instant) {
        self.state = State::Unable(now + REST);
        self.every_one = None;
    }
}
