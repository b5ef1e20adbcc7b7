//! Whether frames are sent able to be marked, and what the marks say: RFC 9000 §13.4.2, for a hop.
//!
//! Networks clear the field, set it on everything, or drop what has it set. So a flight is sent first, and
//! frames go on being able only if the other end's counts say that it came through; each count is checked
//! afterwards. A peer that lies gains nothing but frames that are not able to be marked, which queues drop instead.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::hop::EcnCounts;
use wire::ip::Ecn;

/// Frames in a flight that finds out.
const FLIGHT: u8 = 10;
/// Flights before it is given up.
const FLIGHTS: u8 = 3;
/// How long the answer to one may take.
const ANSWER: Duration = Duration::from_secs(30);
/// After that long it is tried again.
const REST: Duration = Duration::from_secs(600);
/// After so long without anything that came through, the hop may be another, or drop what is able to be marked.
const SILENCE: Duration = Duration::from_secs(1);
/// The other end tells its counts of so many frames in so much time.
const TOLD: Duration = Duration::from_secs(5);
const TOLD_FRAMES: u64 = 256;
/// Where every frame is marked for so long, and so many, marks say nothing.
const EVERY_ONE: Duration = Duration::from_secs(1);
const EVERY_ONE_FRAMES: u64 = 32;

/// Whether frames to the other end are able to be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnAbility {
    /// It is being found out.
    #[default]
    Testing,
    /// They are, and marks come through.
    Able,
    /// They are not: marks do not come through, or say nothing.
    Unable,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A flight is sent.
    Testing(Flight),
    /// It has been.
    Waiting(Flight, Instant),
    Able,
    /// Until then.
    Unable(Instant),
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    /// Which it is, from 1.
    number: u8,
    /// Frames to be sent.
    left: u8,
    /// What had arrived before it.
    arrived: u64,
}

/// The latest counts that the other end reported.
#[derive(Debug, Default)]
struct Report {
    counts: EcnCounts,
    /// Frames known to have arrived at that time.
    arrived: u64,
    /// The highest transmission of that acknowledgement.
    largest: u64,
    /// When it came.
    at: Instant,
}

/// What is known of marks on the way to the other end.
#[derive(Debug)]
pub(crate) struct SentMarks {
    state: State,
    /// Frames that were sent able since this began, and those of them that are known to have arrived.
    sent: u64,
    arrived: u64,
    /// Counts of the other end when this began.
    base: EcnCounts,
    latest: Report,
    /// Since when every frame came marked, and how many.
    every_one: Option<(Instant, u64)>,
    /// Since when nothing comes through.
    silent_since: Option<Instant>,
    /// Marks and arrivals up to which marks have been believed, or not.
    judged: (u64, u64),
    /// Marks that were not reported yet, and all.
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
    /// What is known now.
    pub(crate) fn ability(&self) -> EcnAbility {
        match self.state {
            State::Testing(_) | State::Waiting(..) => EcnAbility::Testing,
            State::Able => EcnAbility::Able,
            State::Unable(_) => EcnAbility::Unable,
        }
    }

    /// Frames that were marked, as far as that is believed.
    pub(crate) fn marked(&self) -> u64 {
        self.marked
    }

    /// Marks that were not asked about yet.
    pub(crate) fn take_news(&mut self) -> u64 {
        std::mem::take(&mut self.news)
    }

    /// The field of a frame that is sent now, which asks for an acknowledgement.
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

    /// Frames were presumed lost: nothing comes through.
    pub(crate) fn silent(&mut self, now: Instant) {
        self.silent_since.get_or_insert(now);
    }

    /// A frame is known to have arrived; `capable` if it was sent able to be marked.
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

    /// An acknowledgement of transmissions up to `largest` tells these counts.
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
        if !is_sound || self.says_nothing(now, (marked, news)) {
            self.give_up(now);
            return;
        }
        if let State::Testing(flight) | State::Waiting(flight, _) = &self.state {
            // One that is wholly marked says no more than none.
            if self.arrived == flight.arrived || self.every_one.is_some() {
                return;
            }
            self.state = State::Able;
        }
        // No more than it acknowledges since the last time.
        let (marked, arrived) = self.judged;
        self.judged = (counts.marked, self.arrived);
        let believed = (counts.marked - marked).min(self.arrived.saturating_sub(arrived));
        self.news += believed;
        self.marked += believed;
    }

    /// Whether every frame is marked, so that marks say nothing.
    fn says_nothing(&mut self, now: Instant, (marked, news): (u64, u64)) -> bool {
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
