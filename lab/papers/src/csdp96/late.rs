//! Events that become known late.

use std::collections::VecDeque;

use units::{Duration, Instant};

/// Events that become known some time after they happened, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Late<T> {
    delay: Duration,
    news: VecDeque<(Instant, T)>,
}

impl<T> Late<T> {
    /// Creates an empty queue with this delay.
    pub(crate) fn by(delay: Duration) -> Self {
        Self {
            delay,
            news: VecDeque::new(),
        }
    }

    /// Adds an event that happens now.
    pub(crate) fn push(&mut self, now: Instant, news: T) {
        self.news.push_back((now + self.delay, news));
    }

    /// Returns the time at which the next event becomes known.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.news.front().map(|(known, _)| *known)
    }

    /// Removes the first event that is known by now.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        let (_, news) = self.news.pop_front_if(|(known, _)| *known <= now)?;
        Some(news)
    }
}
