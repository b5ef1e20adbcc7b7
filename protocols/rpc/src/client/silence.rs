//! Whether the server answers.

use units::{Duration, Instant};

/// Whether the server answers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Silence {
    since: Option<Instant>,
    told: bool,
}

impl Silence {
    /// A call is under way.
    pub(super) fn asked(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Nobody waits for an answer any more.
    pub(super) fn idle(&mut self) {
        if !self.told {
            self.since = None;
        }
    }

    /// The server has answered; how long it was silent, if that was told.
    pub(super) fn heard(&mut self, now: Instant) -> Option<Duration> {
        let since = self.since?;
        self.since = Some(now);
        std::mem::take(&mut self.told).then(|| now.since(since))
    }

    /// When its silence is to be told, if it is not yet.
    pub(super) fn deadline(&self, after: Duration) -> Option<Instant> {
        self.since.filter(|_| !self.told).map(|since| since + after)
    }

    /// Since when it is silent, which is told with this.
    pub(super) fn tell(&mut self) -> Option<Instant> {
        self.told = self.since.is_some();
        self.told()
    }

    /// Since when it is silent, if that was told.
    pub(super) fn told(&self) -> Option<Instant> {
        self.since.filter(|_| self.told)
    }
}
