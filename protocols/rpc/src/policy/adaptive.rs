//! The policy that uses measured round trips and reports of the hop.

use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Rule, RuleInput, check_spans, doubled};
use crate::config::check_rules;
use crate::{ConfigError, RoundTrip};

/// Adaptive policy. A fade is not congestion, and neither is a lost call, unless it happens again and again.
///
/// - The timeout follows the round trips of the call's class: their average and four mean deviations (Jacobson 1988),
///   or at least `minimum`, measured on calls that were sent once (Karn 1987). Before the first sample, that of the
///   slowest class is used. Calls start with the timeouts of the last one, until a round trip is measured again.
/// - A repeated call is measured too if its reply comes as long after the last copy as those of the fastest calls, to
///   an eighth: it answers that copy, nothing queues, and earlier copies were lost, not late.
/// - The first few timeouts of a call do not lengthen the next timeout; those after them double it.
/// - While the hop reports a fade or a hand-off nothing is sent again and no timeout counts. When it ends, a call
///   that was sent during it is repeated at once, and one that was on its way as soon as its reply is overdue by the
///   average, unless the hop has kept its packets. These wait twice as long for their replies, which share the hop.
/// - When a server that was reported silent answers, all calls in flight are repeated at once.
/// - A call is repeated at once when replies to several later calls of its class have come.
///
/// Cost for a server that does not answer, per call: in a time t at most 1 + `steady` + log₂(`maximum` ÷ timeout) + t
/// ÷ `maximum` datagrams, and with each reported end of a fade at most 1 + log₂(`maximum` ÷ timeout) more, never two
/// within `spacing`; one more when it answers again. The client limits the calls in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// Timeout before a round trip is measured.
    pub initial: Duration,
    /// Least timeout beyond the average: if calls queue on a steady hop the deviation shrinks to zero, and the first
    /// call that queues longer would look lost.
    pub minimum: Duration,
    /// Longest timeout that back-off reaches.
    pub maximum: Duration,
    /// Number of timeouts without back-off.
    pub steady: u32,
    /// Number of replies to later calls of the class that show a loss; 0 turns this off.
    pub overtakers: u32,
    /// Time that a report of a fade or a hand-off is relied on without a new report.
    pub believed: Duration,
    /// Least time from a transmission of a call to the next, whatever the hop reports.
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

/// Number of doublings that one call passes on to the next: enough to find round trips of 32 times `initial`, while
/// an outage slows later calls by no more than that.
const DOUBLINGS_CARRIED: u32 = 5;

impl Adaptive {
    /// Returns `base`, doubled for each timeout beyond `steady`.
    fn backed_off(&self, situation: &RuleInput, base: Duration) -> Duration {
        let doublings = situation.timeouts.saturating_sub(self.steady);
        doubled(base, doublings, self.maximum.max(base))
    }
}

impl Rule for Adaptive {
    fn wait(&self, situation: &RuleInput) -> Duration {
        let most = |known: RoundTrip| known.usual.timeout(self.minimum);
        let slowest = situation.slowest.map_or(self.initial, most);
        let unknown = slowest.max(self.initial);
        let base = situation.round_trip.map_or(unknown, most);
        self.backed_off(situation, base)
    }

    fn resume(&self, situation: &RuleInput, faded: bool) -> Option<Duration> {
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
