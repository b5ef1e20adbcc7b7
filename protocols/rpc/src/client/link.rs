//! What the hop has reported.

use units::{Duration, Instant};

/// What the hop has reported.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Link {
    /// The fade or hand-off that is not over, since it was reported last.
    fade: Option<Instant>,
    /// How long those before it took.
    faded: Duration,
}

impl Link {
    /// A fade or a hand-off begins, or goes on.
    pub(super) fn begin(&mut self, now: Instant, believed: Duration) {
        self.end(now, believed);
        self.fade = Some(now);
    }

    /// It is over. When it began, if that was reported.
    pub(super) fn end(&mut self, now: Instant, believed: Duration) -> Option<Instant> {
        let began = self.fade.take()?;
        self.faded += now.since(began).min(believed);
        Some(began)
    }

    /// Until when nothing is sent again.
    pub(super) fn believed_until(&self, now: Instant, believed: Duration) -> Option<Instant> {
        let until = self.fade? + believed;
        (until > now).then_some(until)
    }

    /// How long the hop has worked since the origin.
    pub(super) fn worked(&self, now: Instant, believed: Duration) -> Duration {
        let fading = self.fade.map(|began| now.since(began).min(believed));
        self.passed(now) - fading.unwrap_or_default()
    }

    /// The same for one who has just heard the server, so that the hop works whatever was reported last.
    pub(super) fn passed(&self, now: Instant) -> Duration {
        now.since_origin() - self.faded
    }
}
