//! The monitor that probes for the end of a burst.

use units::Instant;

use super::{Channel, Look, Monitor};
use crate::config::Probing;
use crate::{Cause, Hint, Outcome};

/// Marks after some missing acknowledgements; then probes at growing intervals until one is acknowledged.
#[derive(Debug)]
pub(super) struct Prober(pub(super) Probing);

impl Prober {
    /// Notes a missing acknowledgement, or a channel that is `certain` to be bad.
    fn missed(&self, now: Instant, channel: &mut Channel, certain: bool) {
        let Probing {
            missing,
            first,
            maximum,
        } = self.0;
        let is_due = channel.due.is_some();
        let Some(burst) = channel.missed(now, missing, certain) else {
            return;
        };
        if !is_due {
            let longer = burst.wait.map_or(first, |wait| wait + wait / 2);
            let wait = longer.min(maximum);
            burst.wait = Some(wait);
            channel.due = Some(now + wait);
        }
        channel.is_marked = true;
    }
}

impl Monitor for Prober {
    fn outcome(&self, now: Instant, channel: &mut Channel, outcome: Outcome) {
        let cause = match outcome {
            Outcome::Delivered => return channel.heard(now),
            Outcome::Missing { cause, .. } => cause,
        };
        // A collision shows nothing about the channel; a probe that collided is sent again.
        if cause != Cause::Collision || channel.is_marked {
            self.missed(now, channel, cause == Cause::Fade);
        }
    }

    fn hint(&self, now: Instant, channel: &mut Channel, hint: Hint) {
        if channel.learn(now, hint) {
            self.missed(now, channel, true);
        }
    }

    fn due(&self, _now: Instant, _channel: &mut Channel) -> Look {
        Look::Probe
    }
}
