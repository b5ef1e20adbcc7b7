//! The watch of a mobile host on the gateway that serves it: if that falls silent, another one of the site may serve.

use units::{Duration, Instant};

/// Time between two questions.
const PAUSE: Duration = Duration::from_millis(250);
/// Time without an answer after which another gateway is asked to serve, and the same in round trips: on a long hop an
/// answer takes longer.
const SILENT: Duration = Duration::from_millis(1_000);
const SILENT_TRIPS: u64 = 4;

/// A step of the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchStep {
    /// The gateway is asked for a sign of life.
    Ask,
    /// Another gateway is asked to serve.
    Move,
}

/// State of the watch. A host that neither sends nor receives does not watch.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Time of the next step.
    due: Option<Instant>,
    /// Time of the first question that is not answered.
    asked: Option<Instant>,
    /// Number of other gateways that were tried since then.
    tries: usize,
}

impl Watch {
    /// Time without a frame after which the gateway is asked for a sign of life.
    pub(crate) const QUIET: Duration = Duration::from_millis(700);

    /// Records a frame of the gateway.
    pub(crate) fn got_frame(&mut self, now: Instant) {
        (self.asked, self.tries) = (None, 0);
        self.due = Some(now + Self::QUIET);
    }

    /// Records an answer of the gateway.
    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Records a datagram to the gateway.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.due.get_or_insert(now + Self::QUIET);
    }

    /// Notes that another gateway is asked to serve.
    pub(crate) fn tried(&mut self) {
        self.tries += 1;
    }

    /// Returns the number of other gateways that were asked since the first question that is not answered.
    pub(crate) fn tries(&self) -> usize {
        self.tries
    }

    /// Returns true if a question is not answered.
    pub(crate) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Sets the time of the next question.
    pub(crate) fn rest(&mut self, until: Option<Instant>) {
        self.due = until;
    }

    /// Returns the time of the next step.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the step that is due, on a hop with this round trip.
    pub(crate) fn step(&mut self, now: Instant, round_trip: Duration) -> Option<WatchStep> {
        self.due.filter(|due| *due <= now)?;
        self.due = Some(now + PAUSE);
        let asked = *self.asked.get_or_insert(now);
        let is_silent = now.since(asked) >= SILENT.max(round_trip * SILENT_TRIPS);
        Some(if is_silent {
            WatchStep::Move
        } else {
            WatchStep::Ask
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Returns the steps until the first move, and its time in milliseconds.
    fn silence(watch: &mut Watch, round_trip: Duration) -> (usize, u64) {
        for questions in 0.. {
            let due = watch.due().expect("a step");
            if watch.step(due, round_trip) == Some(WatchStep::Move) {
                return (questions, due.since_origin().as_millis());
            }
        }
        unreachable!("it moves")
    }

    #[test]
    fn a_silent_gateway_is_left_after_some_questions() {
        let mut watch = Watch::default();
        assert_eq!(watch.due(), None);
        watch.got_frame(at(1_000));
        let short = Duration::from_millis(40);
        assert_eq!(watch.step(at(1_699), short), None);
        assert_eq!(silence(&mut watch, short), (4, 2_700));
        let mut watch = Watch::default();
        watch.sent(at(0));
        watch.sent(at(500));
        let long = Duration::from_millis(600);
        assert_eq!(silence(&mut watch, long), (10, 3_200));
    }

    #[test]
    fn an_answer_ends_the_questions() {
        let mut watch = Watch::default();
        watch.sent(at(0));
        assert_eq!(watch.step(at(700), Duration::ZERO), Some(WatchStep::Ask));
        watch.answered();
        assert_eq!(watch.due(), None);
        watch.got_frame(at(900));
        assert_eq!(watch.due(), Some(at(1_600)));
    }
}
