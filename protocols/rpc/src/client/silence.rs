//! The detection of a silent server.

use units::{Duration, Instant};

/// State of the detection of a silent server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Silence {
    since: Option<Instant>,
    told: bool,
}

impl Silence {
    /// Notes that a call is in flight.
    pub(super) fn asked(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Notes that no call waits for an answer any more.
    pub(super) fn idle(&mut self) {
        if !self.told {
            self.since = None;
        }
    }

    /// Notes an answer of the server. Returns the duration of its silence, if the silence was reported.
    pub(super) fn heard(&mut self, now: Instant) -> Option<Duration> {
        let since = self.since?;
        self.since = Some(now);
        std::mem::take(&mut self.told).then(|| now.since(since))
    }

    /// Returns the time at which its silence is to be reported, if it is not reported yet.
    pub(super) fn deadline(&self, after: Duration) -> Option<Instant> {
        self.since.filter(|_| !self.told).map(|since| since + after)
    }

    /// Marks the silence as reported. Returns the time since which the server is silent, if it is.
    pub(super) fn tell(&mut self) -> Option<Instant> {
        self.told = self.since.is_some();
        self.told()
    }

    /// Returns the time since which it is silent, if that was reported.
    pub(super) fn told(&self) -> Option<Instant> {
        self.since.filter(|_| self.told)
    }
}
