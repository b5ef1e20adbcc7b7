//! The monitor with perfect knowledge.

use units::{Duration, Instant};

use super::{Channel, Monitor};
use crate::Outcome;

/// Uses the state that each channel reports (the paper's simulation with perfect knowledge).
#[derive(Debug)]
pub(super) struct Perfect;

impl Monitor for Perfect {
    fn outcome(&self, _now: Instant, _channel: &mut Channel, _outcome: Outcome) {}

    fn told(&self, now: Instant, channel: &mut Channel, is_good: bool) {
        if is_good {
            if let Some(burst) = &mut channel.burst {
                burst.latest = now;
            }
            channel.heard(now);
        } else if let Some(burst) = channel.missed(now, 1, true) {
            burst.wait = Some(Duration::ZERO);
            channel.is_marked = true;
        }
    }
}
