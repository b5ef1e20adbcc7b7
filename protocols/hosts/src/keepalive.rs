//! The search for the time for which a NAT or a firewall on the way keeps the binding of an idle mobile host, and the
//! keepalives that follow from it.
//!
//! The mobile host asks its gateway to answer after some seconds, and then is silent. If the answer comes, the binding
//! has lived so long. If none comes, the host asks for an answer at once: that answer shows that the hop works, and so
//! that the binding was gone. Nobody has to know whether there is a NAT, so firewalls that only admit answers are found
//! too. A new question is due when the answer to the last one has come, so it keeps the binding and checks it as well.
//!
//! Sessions renew their keys every 120 s, so an idle host is never silent for longer. Where bindings live that long, no
//! keepalive is sent.

use units::{Duration, Instant};

/// First time to try, in seconds: less than the 30 s that common NATs keep a binding with one-way traffic at least.
const FIRST: u16 = 25;
/// Longest time to try: less than that between two renewals of keys (`docs/session.md`).
const LONGEST: u16 = 110;
/// Shortest time between two keepalives.
const SHORTEST: u16 = 3;
/// The search ends if the longest time that a binding has lived and the shortest time that one has not are this close,
/// in seconds or as a part of the first one.
const CLOSE: u16 = 2;
const CLOSE_PART: u16 = 8;
/// Number of missing answers in a row that show that a binding does not live so long: one may be lost on the air.
const MISSING: u32 = 2;
/// Time that an answer may be late.
const LATE: Duration = Duration::from_secs(2);
/// Time between two questions to a hop that is silent.
const SILENT: Duration = Duration::from_secs(5);
/// Time without traffic before a search goes on. It doubles each time that traffic disturbs one, up to the second
/// value, with which the longest time still fits between two renewals of keys.
const REST: Duration = Duration::from_secs(1);
const REST_MOST: Duration = Duration::from_secs(4);
/// Time after which a binding that needs no keepalives is checked again.
const CHECK: Duration = Duration::from_secs(20 * 60);

/// What is asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Nothing.
    None,
    /// An answer after this time, in seconds.
    After(u16),
    /// An answer at once, as none came after this time.
    AtOnce(u16),
}

/// State of the search.
#[derive(Debug)]
pub(crate) struct Keepalive {
    /// True if the gateway answers these questions.
    pub(crate) is_answered: bool,
    /// True if it can also be reached.
    is_on: bool,
    /// Longest time for which a binding has lived, in seconds; 0 if none is known.
    lived: u16,
    /// Shortest time after which one was gone, in seconds.
    gone: Option<u16>,
    /// Number of missing answers in a row.
    missing: u32,
    question: Question,
    /// Time of the next question, or of the end of the wait for an answer.
    next: Instant,
    rest: Duration,
}

impl Keepalive {
    /// Returns the state of a host that has not connected.
    pub(crate) fn new() -> Self {
        Self {
            is_answered: false,
            is_on: false,
            lived: 0,
            gone: None,
            missing: 0,
            question: Question::None,
            next: Instant::ZERO,
            rest: REST,
        }
    }

    /// Notes whether the gateway can be reached.
    pub(crate) fn set_reached(&mut self, now: Instant, is_reached: bool) {
        let is_on = is_reached && self.is_answered;
        if self.is_on != is_on {
            self.is_on = is_on;
            self.question = Question::None;
            self.next = now + self.rest;
        }
    }

    /// Forgets what was learned: this host may be behind another NAT.
    pub(crate) fn forget(&mut self, now: Instant) {
        *self = Self {
            is_answered: self.is_answered,
            is_on: self.is_on,
            next: now + REST,
            ..Self::new()
        };
    }

    /// Returns the interval of the keepalives that are needed; `None` if none are, or that is not known yet.
    pub(crate) fn interval(&self) -> Option<Duration> {
        let is_needed = self.is_found() && self.lived < LONGEST;
        is_needed.then(|| seconds(self.lived.max(SHORTEST)))
    }

    /// Returns the time of the next act.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.is_on.then_some(self.next)
    }

    /// Records other traffic: it keeps the binding, and disturbs a search.
    pub(crate) fn used(&mut self, now: Instant) {
        let is_disturbed = self.question != Question::None;
        if is_disturbed {
            self.question = Question::None;
            self.rest = (self.rest * 2).min(REST_MOST);
        }
        // A longer one would always be disturbed by the next renewal of keys.
        let fits = self
            .interval()
            .filter(|interval| *interval <= seconds(LONGEST / 2));
        let pause = fits.unwrap_or(self.rest);
        // A check of a binding that needs no keepalives is far off, and stays there.
        let is_far = self.lived == LONGEST && !is_disturbed && self.next > now + pause;
        if !is_far {
            self.next = now + pause;
        }
    }

    /// Acts at its deadline; returns the question to send: the number of seconds after which the answer is due.
    pub(crate) fn act(&mut self, now: Instant, round_trip: Option<Duration>) -> Option<u16> {
        if !self.is_on || now < self.next {
            return None;
        }
        let grace = LATE.max(round_trip.unwrap_or_default() * 4);
        let (question, after) = match self.question {
            Question::None => {
                let after = self.next_try();
                (Question::After(after), after)
            }
            Question::After(missing) | Question::AtOnce(missing) => (Question::AtOnce(missing), 0),
        };
        let is_silent = matches!(self.question, Question::AtOnce(_));
        self.question = question;
        self.next = now
            + if is_silent {
                SILENT
            } else {
                seconds(after) + grace
            };
        Some(after)
    }

    /// Records an answer, of the number of seconds after which it was due.
    pub(crate) fn answered(&mut self, now: Instant, after: u16) {
        match self.question {
            Question::After(asked) if asked == after => self.has_lived(asked),
            Question::AtOnce(asked) if after == 0 => self.is_missing(asked),
            Question::None | Question::After(_) | Question::AtOnce(_) => return,
        }
        self.question = Question::None;
        self.rest = REST;
        let is_lasting = self.lived == LONGEST && self.missing == 0;
        self.next = now + if is_lasting { CHECK } else { Duration::ZERO };
    }

    fn has_lived(&mut self, time: u16) {
        self.missing = 0;
        self.lived = self.lived.max(time);
        // The NAT has become more patient, or answers were lost.
        self.gone = self.gone.filter(|gone| *gone > self.lived);
    }

    fn is_missing(&mut self, time: u16) {
        self.missing += 1;
        if self.missing < MISSING {
            return;
        }
        self.missing = 0;
        self.gone = Some(time);
        if time <= self.lived {
            // It lived longer before, so nothing is known about less.
            self.lived = 0;
        }
    }

    /// Returns true if the search has ended.
    fn is_found(&self) -> bool {
        let Some(gone) = self.gone else {
            return self.lived == LONGEST;
        };
        let close = CLOSE.max(self.lived / CLOSE_PART);
        gone <= self.lived.max(SHORTEST) + close
    }

    /// Returns the time to try next, in seconds.
    fn next_try(&self) -> u16 {
        let next = match self.gone {
            _ if self.is_found() => self.lived,
            None if self.lived == 0 => FIRST,
            None => self.lived * 2,
            Some(gone) => u16::midpoint(self.lived, gone),
        };
        next.clamp(SHORTEST, LONGEST)
    }
}

fn seconds(count: u16) -> Duration {
    Duration::from_secs(count.into())
}

#[cfg(test)]
#[path = "keepalive_tests.rs"]
mod tests;
