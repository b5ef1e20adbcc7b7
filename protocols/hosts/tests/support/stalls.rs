//! A host that does not always get the processor.

use std::collections::VecDeque;
use std::ops::Range;

use hosts::Input;
use units::{Duration, Instant};

/// Inputs that its sockets hold for it; the kernel drops more.
const HELD: usize = 20_000;

/// When a host runs, and what waits meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    /// From the beginning of each period.
    runs: Duration,
    period: Duration,
    span: Range<Instant>,
    waiting: VecDeque<Input>,
}

impl Stalls {
    pub(crate) fn new((runs, period): (Duration, Duration), span: Range<Instant>) -> Self {
        assert!(runs < period && !runs.is_zero(), "a part of the period");
        Self {
            runs,
            period,
            span,
            waiting: VecDeque::new(),
        }
    }

    fn phase(&self, now: Instant) -> Duration {
        let passed = now.since(self.span.start).as_nanos();
        Duration::from_nanos(passed % self.period.as_nanos())
    }

    /// Whether it has the processor.
    pub(crate) fn runs(&self, now: Instant) -> bool {
        !self.span.contains(&now) || self.phase(now) < self.runs
    }

    /// When it gets the processor again, while it has not.
    pub(crate) fn resumes(&self, now: Instant) -> Instant {
        (now + (self.period - self.phase(now))).min(self.span.end)
    }

    /// Whether something waits.
    pub(crate) fn holds(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The input, if it can be acted on at once.
    pub(crate) fn pass(&mut self, now: Instant, input: Input) -> Option<Input> {
        if self.runs(now) && self.waiting.is_empty() {
            return Some(input);
        }
        if self.waiting.len() < HELD {
            self.waiting.push_back(input);
        }
        None
    }

    /// The next that has waited, once it runs.
    pub(crate) fn release(&mut self, now: Instant) -> Option<Input> {
        if self.runs(now) {
            self.waiting.pop_front()
        } else {
            None
        }
    }
}
