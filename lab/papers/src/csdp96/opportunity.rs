//! The states of the channels, and the time with packets for a good one.

use channel::CsmaAir;
use channel::errors::{ErrorConfig, Timeline};
use machine::Deadlines;
use units::{Duration, Instant};

/// The channels of all mobile hosts. A channel is *open* while it is good and packets wait for its host.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    each: Vec<Channel>,
    /// Time at which each channel changes next.
    changes: Deadlines<u16>,
    /// Number of open channels, and the time during which any was open.
    open: u32,
    any: Span,
}

/// Total time during which a condition held.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    since: Option<Instant>,
    before: Duration,
}

impl Span {
    fn set(&mut self, now: Instant, is_so: bool) {
        match (self.since, is_so) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.before += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    fn total(&self, now: Instant) -> Duration {
        let current = self.since.map(|since| now.since(since));
        self.before + current.unwrap_or_default()
    }
}

#[derive(Debug, Clone)]
struct Channel {
    timeline: Option<Timeline>,
    is_good: bool,
    is_backlogged: bool,
    open: Span,
    good: Span,
}

impl Channels {
    /// Creates the channels of a run with `seed`; a channel whose model has no states is always good.
    pub(crate) fn new(errors: &[ErrorConfig], seed: u64) -> Self {
        let mut changes = Deadlines::default();
        let each = (0..).zip(errors).map(|(mobile, errors)| {
            let timeline = CsmaAir::<()>::timeline(errors, seed, mobile);
            let period = timeline.as_ref().map(Timeline::current);
            if let Some(until) = period.and_then(|period| period.until) {
                changes.set(mobile, until);
            }
            let is_good = period.is_none_or(|period| period.good);
            let mut good = Span::default();
            good.set(Instant::ZERO, is_good);
            Channel {
                timeline,
                is_good,
                is_backlogged: false,
                open: Span::default(),
                good,
            }
        });
        Self {
            each: each.collect(),
            changes,
            open: 0,
            any: Span::default(),
        }
    }

    /// Returns true if a channel is good.
    pub(crate) fn is_good(&self, mobile: u16) -> bool {
        self.each
            .get(usize::from(mobile))
            .is_some_and(|channel| channel.is_good)
    }

    /// Notes whether packets wait for a mobile host.
    pub(crate) fn backlog(&mut self, now: Instant, mobile: u16, is_backlogged: bool) {
        self.set(now, mobile, |channel| channel.is_backlogged = is_backlogged);
    }

    /// Returns the time at which the next channel changes.
    pub(crate) fn next_change(&self) -> Option<Instant> {
        self.changes.first()
    }

    /// Returns a channel that has changed by now, and true if it is good.
    pub(crate) fn change(&mut self, now: Instant) -> Option<(u16, bool)> {
        let at = self.next_change()?;
        let mobile = self.changes.pop_due(now)?;
        let timeline = self.each.get_mut(usize::from(mobile))?.timeline.as_mut()?;
        timeline.advance_to(at);
        let period = timeline.current();
        if let Some(until) = period.until {
            self.changes.set(mobile, until);
        }
        self.set(now, mobile, |channel| channel.is_good = period.good);
        Some((mobile, period.good))
    }

    fn set(&mut self, now: Instant, mobile: u16, change: impl FnOnce(&mut Channel)) {
        let Some(channel) = self.each.get_mut(usize::from(mobile)) else {
            return;
        };
        let was_open = channel.open.since.is_some();
        change(channel);
        let is_open = channel.is_good && channel.is_backlogged;
        channel.open.set(now, is_open);
        channel.good.set(now, channel.is_good);
        self.open += u32::from(is_open);
        self.open -= u32::from(was_open);
        self.any.set(now, self.open > 0);
    }

    /// Returns the time during which any channel was open.
    pub(crate) fn any_open(&self, now: Instant) -> Duration {
        self.any.total(now)
    }

    /// Returns the time during which a channel was good.
    pub(crate) fn good(&self, now: Instant, mobile: u16) -> Duration {
        let channel = self.each.get(usize::from(mobile));
        channel.map_or(Duration::ZERO, |channel| channel.good.total(now))
    }

    /// Returns the time during which a channel was open.
    pub(crate) fn open(&self, now: Instant, mobile: u16) -> Duration {
        let channel = self.each.get(usize::from(mobile));
        channel.map_or(Duration::ZERO, |channel| channel.open.total(now))
    }
}
