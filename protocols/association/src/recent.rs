//! What has kept frames from leaving and arriving in the last seconds, as spans and counts.

use arq::{LossCounts, Stats};
use units::{Duration, Instant};

/// It looks back for one to two of these.
const PART: Duration = Duration::from_secs(1);

/// The last seconds of an association, or all of it so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seconds {
    /// How long they lasted.
    pub span: Duration,
    /// For how long of them packets waited here to be sent.
    pub backlogged: Duration,
    /// For how long nothing came through.
    pub silent: Duration,
    /// For how long frames waited on the way, longer than this end lets them.
    pub waited: Duration,
    /// For how long this process did not run that had something to do.
    pub stalled_here: Duration,
    /// How late the other end acknowledged what had reached it, in all.
    pub stalled_there: Duration,
    /// Frames sent.
    pub frames: u64,
    /// Those that were lost.
    pub lost: LossCounts,
}

impl Seconds {
    fn since(&self, before: &Self) -> Self {
        Self {
            span: self.span.saturating_sub(before.span),
            backlogged: self.backlogged.saturating_sub(before.backlogged),
            silent: self.silent.saturating_sub(before.silent),
            waited: self.waited.saturating_sub(before.waited),
            stalled_here: self.stalled_here.saturating_sub(before.stalled_here),
            stalled_there: self.stalled_there.saturating_sub(before.stalled_there),
            frames: self.frames - before.frames,
            lost: self.lost.since(&before.lost),
        }
    }
}

/// How an association is at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// Packets wait to be sent.
    pub(crate) is_backlogged: bool,
    /// Since when nothing comes through.
    pub(crate) silent_since: Option<Instant>,
    /// Frames wait on the way, longer than this end lets them.
    pub(crate) is_waiting: bool,
}

/// Keeps the last seconds.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    total: Seconds,
    /// What it was one part ago, and two.
    marks: [Seconds; 2],
    marked: Instant,
    noted: Instant,
    /// How it has been since then.
    moment: Moment,
}

impl Recent {
    /// How it is from now on, until it is noted anew.
    pub(crate) fn note(&mut self, now: Instant, moment: Moment, stats: &Stats) {
        let passed = now.since(self.noted);
        self.total = self.until(now, stats);
        if let (None, Some(since)) = (self.moment.silent_since, moment.silent_since) {
            // It is noticed when it has lasted for some time.
            self.total.silent += now.since(since);
        }
        self.noted = now;
        self.moment = moment;
        if passed > PART {
            // Nothing happened for so long that what was before is not recent.
            self.marks = [self.total; 2];
            self.marked = now;
        } else if now.since(self.marked) >= PART {
            self.marks = [self.total, self.marks[0]];
            self.marked = now;
        }
    }

    /// This process has not run for so long.
    pub(crate) fn stalled(&mut self, span: Duration) {
        self.total.stalled_here += span;
    }

    /// The last seconds.
    pub(crate) fn seconds(&self, now: Instant, stats: &Stats) -> Seconds {
        self.until(now, stats).since(&self.marks[1])
    }

    fn until(&self, now: Instant, stats: &Stats) -> Seconds {
        let passed = now.since(self.noted);
        let when = |is_so: bool| if is_so { passed } else { Duration::ZERO };
        let total = &self.total;
        Seconds {
            span: total.span + passed,
            backlogged: total.backlogged + when(self.moment.is_backlogged),
            silent: total.silent + when(self.moment.silent_since.is_some()),
            waited: total.waited + when(self.moment.is_waiting),
            stalled_here: total.stalled_here,
            stalled_there: stats.sent.stalled_there,
            frames: stats.sent.frames,
            lost: stats.sent.causes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    #[test]
    fn it_looks_back_for_one_to_two_seconds() {
        let (mut recent, stats) = (Recent::default(), Stats::default());
        for milliseconds in (100..=5_000).step_by(100) {
            let moment = Moment {
                is_backlogged: milliseconds <= 2_000,
                silent_since: (milliseconds > 4_600).then_some(at(4_500)),
                is_waiting: false,
            };
            recent.note(at(milliseconds), moment, &stats);
        }
        let seconds = recent.seconds(at(5_050), &stats);
        assert!(seconds.span >= PART && seconds.span <= PART * 2 + Duration::from_millis(50));
        assert_eq!(seconds.backlogged, Duration::ZERO);
        assert_eq!(seconds.silent, Duration::from_millis(550));
    }

    #[test]
    fn a_long_rest_is_not_mixed_with_what_comes_after_it() {
        let (mut recent, stats) = (Recent::default(), Stats::default());
        recent.note(at(1_000), Moment::default(), &stats);
        let moment = Moment {
            is_backlogged: true,
            ..Moment::default()
        };
        recent.note(at(60_000), moment, &stats);
        recent.note(at(60_500), moment, &stats);
        let seconds = recent.seconds(at(60_500), &stats);
        assert_eq!(seconds.span, Duration::from_millis(500));
        assert_eq!(seconds.backlogged, seconds.span);
    }
}
