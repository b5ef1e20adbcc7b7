//! By measured round trips and what the hop reports.

use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Rule, Situation, check_spans, doubled};
use crate::config::check_rules;
use crate::{ConfigError, RoundTrip};

/// A fade is not congestion, and neither is a lost call, unless it happens again and again.
///
/// - The wait follows the round trips of the call's class: their average and four mean deviations (Jacobson 1988), or
///   `minimum` if that is more, measured on calls that were sent once (Karn 1987). Until there is one, that of the
///   slowest class stands in. Calls start where timeouts left the last, until a round trip is measured again.
/// - So it is as well when the reply to a repeated call comes as long after the last copy as the fastest calls take,
///   to an eighth: it was to that copy, nothing queues, and what was sent before was lost, not late.
/// - The first few timeouts of a call do not lengthen the wait; those after them double it.
/// - While the hop reports a fade or a hand-off nothing is sent again and no timeout counts. When it ends, a call that
///   was sent into it is repeated at once and one that was on its way as soon as its reply is overdue by the average,
///   unless the hop has kept what it was given. These wait twice as long for their replies, which share the hop.
/// - When a server answers that was said to be silent, all that it was asked meanwhile is repeated at once.
/// - A call is repeated at once when replies to several later calls of its class have come.
///
/// What it costs a server that does not answer, per call: in a time t at most
/// 1 + `steady` + log₂(`maximum` ÷ wait) + t ÷ `maximum` datagrams, and with each reported end of a fade at most
/// 1 + log₂(`maximum` ÷ wait) more, never two within `spacing`; one more when it answers again. Calls in flight are
/// bounded by the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// The wait before a round trip has been measured.
    pub initial: Duration,
    /// The least wait beyond the average: where calls queue on a steady hop the deviation shrinks to nothing, and the
    /// first call that queues longer would look lost.
    pub minimum: Duration,
    /// The longest wait to which timeouts lead.
    pub maximum: Duration,
    /// Timeouts that do not lengthen the wait.
    pub steady: u32,
    /// Replies to later calls of the class that show a loss; 0: none do.
    pub overtakers: u32,
    /// How long a report that the hop fades or is handed off is believed without news.
    pub believed: Duration,
    /// The least time from sending a call to repeating it, whatever the hop reports.
    pub spacing: Duration,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(700),
            minimum: Duration::from_millis(100),
            maximum: Duration::from_secs(15),
            steady: 3,
            overtakers: 3,
            believed: Duration::from_secs(5),
            spacing: Duration::from_millis(10),
        }
    }
}

/// Doublings that one call leaves to the next: enough to find round trips of 32 times `initial`, and an outage does
/// not slow what comes after it by more.
const DOUBLINGS_CARRIED: u32 = 5;

impl Adaptive {
    /// `base`, doubled by the timeouts that are not forgiven.
    fn backed_off(&self, situation: &Situation, base: Duration) -> Duration {
        let doublings = situation.timeouts.saturating_sub(self.steady);
        doubled(base, doublings, self.maximum.max(base))
    }
}

impl Rule for Adaptive {
    fn wait(&self, situation: &Situation) -> Duration {
        let most = |known: RoundTrip| known.usual.timeout(self.minimum);
        let slowest = situation.slowest.map_or(self.initial, most);
        let unknown = slowest.max(self.initial);
        let base = situation.round_trip.map_or(unknown, most);
        self.backed_off(situation, base)
    }

    fn resume(&self, situation: &Situation, faded: bool) -> Option<Duration> {
        let overdue = match situation.round_trip {
            _ if faded => Duration::ZERO,
            Some(known) => self.backed_off(situation, known.usual.smoothed + known.usual.deviation),
            None => self.wait(situation),
        };
        Some(overdue.max(self.spacing))
    }

    fn believes(&self) -> Duration {
        self.believed
    }

    fn carried(&self) -> u32 {
        self.steady.saturating_add(DOUBLINGS_CARRIED)
    }

    fn overtakers(&self) -> Option<u32> {
        (self.overtakers > 0).then_some(self.overtakers)
    }

    fn check(&self) -> Result<(), ConfigError> {
        check_spans(self.initial, self.maximum)?;
        check_rules(&[
            (!self.minimum.is_zero(), "`minimum` must be more than 0 s"),
            (
                self.minimum <= self.maximum,
                "`minimum` must not exceed `maximum`",
            ),
            (!self.spacing.is_zero(), "`spacing` must be more than 0 s"),
        ])
    }
}
