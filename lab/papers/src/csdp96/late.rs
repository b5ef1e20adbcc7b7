//! News that come late.

use std::collections::VecDeque;

use units::{Duration, Instant};

/// What is known only some time after it happened, in its order.
#[derive(Debug, Clone)]
pub(crate) struct Late<T> {
    delay: Duration,
    news: VecDeque<(Instant, T)>,
}

impl<T> Late<T> {
    /// News that come so much later.
    pub(crate) fn by(delay: Duration) -> Self {
        Self {
            delay,
            news: VecDeque::new(),
        }
    }

    /// Something happens.
    pub(crate) fn push(&mut self, now: Instant, news: T) {
        self.news.push_back((now + self.delay, news));
    }

    /// When the next is known.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.news.front().map(|(known, _)| *known)
    }

    /// What is known by now.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        let (_, news) = self.news.pop_front_if(|(known, _)| *known <= now)?;
        Some(news)
    }
}
