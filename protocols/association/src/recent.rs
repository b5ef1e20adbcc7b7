//! The obstacles to frames in the last seconds, as spans of time and counts.

use arq::{LossCounts, Stats};
use units::{Duration, Instant};

use crate::meters::Meters;

/// Length of one part. The measurements cover one to two parts.
const PART: Duration = Duration::from_secs(1);

/// Measurements of an association over the last seconds, or over all its time so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecentCounters {
    /// Length of the time measured.
    pub span: Duration,
    /// Time for which packets waited here to be sent.
    pub backlogged: Duration,
    /// Time for which nothing came through.
    pub silent: Duration,
    /// Time for which frames waited on the way longer than usual.
    pub waited: Duration,
    /// Time for which this process did not run although it had something to do.
    pub stalled_here: Duration,
    /// Total time by which acknowledgements of the other end were late.
    pub stalled_there: Duration,
    /// Frames sent.
    pub frames: u64,
    /// Frames lost, by cause.
    pub lost: LossCounts,
}

impl RecentCounters {
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

/// State of an association at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HopSnapshot {
    /// True if packets wait to be sent.
    pub(crate) is_backlogged: bool,
    /// Time since which nothing comes through, in a fade.
    pub(crate) silent_since: Option<Instant>,
    /// True if frames wait on the way longer than usual.
    pub(crate) is_waiting: bool,
}

/// Recorder of the last seconds.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    total: RecentCounters,
    /// The totals one part ago, and two.
    marks: [RecentCounters; 2],
    marked: Instant,
    noted: Instant,
    /// State since `noted`.
    moment: HopSnapshot,
    /// Meters of the traffic.
    pub(crate) meters: Meters,
}

impl Recent {
    /// Records the state from now on, until the next call.
    pub(crate) fn note(&mut self, now: Instant, moment: HopSnapshot, stats: &Stats) {
        let passed = now.since(self.noted);
        self.total = self.until(now, stats);
        if let (None, Some(since)) = (self.moment.silent_since, moment.silent_since) {
            // A silence is noticed only after some time.
            self.total.silent += now.since(since);
        }
        self.noted = now;
        self.moment = moment;
        self.meters.note(now, stats);
        if passed > PART {
            // Nothing happened for so long that earlier times are not recent.
            self.marks = [self.total; 2];
            self.marked = now;
        } else if now.since(self.marked) >= PART {
            self.marks = [self.total, self.marks[0]];
            self.marked = now;
        }
    }

    /// Adds a time for which this process did not run.
    pub(crate) fn stalled(&mut self, span: Duration) {
        self.total.stalled_here += span;
    }

    /// Returns the measurements of the last seconds.
    pub(crate) fn seconds(&self, now: Instant, stats: &Stats) -> RecentCounters {
        self.until(now, stats).since(&self.marks[1])
    }

    fn until(&self, now: Instant, stats: &Stats) -> RecentCounters {
        let passed = now.since(self.noted);
        let when = |is_so: bool| if is_so { passed } else { Duration::ZERO };
        let total = &self.total;
        RecentCounters {
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
            let moment = HopSnapshot {
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
        recent.note(at(1_000), HopSnapshot::default(), &stats);
        let moment = HopSnapshot {
            is_backlogged: true,
            ..HopSnapshot::default()
        };
        recent.note(at(60_000), moment, &stats);
        recent.note(at(60_500), moment, &stats);
        let seconds = recent.seconds(at(60_500), &stats);
        assert_eq!(seconds.span, Duration::from_millis(500));
        assert_eq!(seconds.backlogged, seconds.span);
    }
}
