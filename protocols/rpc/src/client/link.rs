//! The fades and hand-offs that the hop has reported.

use units::{Duration, Instant};

/// Fades and hand-offs that the hop has reported.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Link {
    /// Time of the last report of the current fade or hand-off.
    fade: Option<Instant>,
    /// Total duration of the earlier ones.
    faded: Duration,
}

impl Link {
    /// Notes the begin of a fade or a hand-off, or another report of the current one.
    pub(super) fn begin(&mut self, now: Instant, believed: Duration) {
        self.end(now, believed);
        self.fade = Some(now);
    }

    /// Notes its end. Returns the time of its last report, if there was one.
    pub(super) fn end(&mut self, now: Instant, believed: Duration) -> Option<Instant> {
        let began = self.fade.take()?;
        self.faded += now.since(began).min(believed);
        Some(began)
    }

    /// Returns the time until which nothing is sent again, if it lies ahead.
    pub(super) fn believed_until(&self, now: Instant, believed: Duration) -> Option<Instant> {
        let until = self.fade? + believed;
        (until > now).then_some(until)
    }

    /// Returns the time since the origin without fades and hand-offs.
    pub(super) fn worked(&self, now: Instant, believed: Duration) -> Duration {
        let fading = self.fade.map(|began| now.since(began).min(believed));
        self.passed(now) - fading.unwrap_or_default()
    }

    /// Returns the same when a reply has just arrived, which proves that the hop works despite a reported fade.
    pub(super) fn passed(&self, now: Instant) -> Duration {
        now.since_origin() - self.faded
    }
}
