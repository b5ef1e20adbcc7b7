//! The monitor that uses missing acknowledgements only.

use units::{Duration, Instant};

use super::{Channel, Look, Monitor};
use crate::config::Bursts;
use crate::{Cause, Hint, Outcome};

/// Marks after some missing acknowledgements, unmarks after the estimated length of a burst (Bhagwat et al. 1996,
/// whose estimator "could track mean and variance"): for the rest of the mean length at first, and, if that was too
/// early, for a mean deviation each time.
#[derive(Debug)]
pub(super) struct Acknowledgements(pub(super) Bursts);

impl Acknowledgements {
    /// Returns the length of a mark, `elapsed` after the first missing acknowledgement.
    fn wait(&self, channel: &Channel, elapsed: Duration, is_first: bool) -> Duration {
        let known = channel.bursts.mean_and_deviation();
        let (mean, deviation) = known.unwrap_or((self.0.initial, self.0.initial / 2));
        let wait = if is_first {
            mean.saturating_sub(elapsed)
        } else {
            deviation
        };
        wait.clamp(self.0.minimum, self.0.maximum)
    }

    /// Notes a missing acknowledgement, or a channel that is `certain` to be bad.
    fn missed(&self, now: Instant, channel: &mut Channel, certain: bool) {
        let was_marked = channel.is_marked;
        let Some(burst) = channel.missed(now, self.0.missing, certain) else {
            return;
        };
        let (elapsed, is_first) = (now.since(burst.since), burst.wait.is_none());
        // It was sent to although marked, since nothing else waited: the end of the mark does not change.
        if was_marked {
            return;
        }
        let wait = self.wait(channel, elapsed, is_first);
        if let Some(burst) = &mut channel.burst {
            burst.wait = Some(wait);
        }
        channel.is_marked = true;
        channel.due = Some(now + wait);
    }
}

impl Monitor for Acknowledgements {
    fn outcome(&self, now: Instant, channel: &mut Channel, outcome: Outcome) {
        let cause = match outcome {
            Outcome::Delivered => return channel.heard(now),
            Outcome::Missing { cause, .. } => cause,
        };
        if cause != Cause::Collision {
            self.missed(now, channel, cause == Cause::Fade);
        }
    }

    fn hint(&self, now: Instant, channel: &mut Channel, hint: Hint) {
        if channel.learn(now, hint) {
            self.missed(now, channel, true);
        }
    }

    fn due(&self, _now: Instant, channel: &mut Channel) -> Look {
        channel.is_marked = false;
        Look::Only
    }
}
