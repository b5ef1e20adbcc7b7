//! The choice between packets and streams for each TCP connection that crosses the hop: as packets, which the link
//! layer repairs, or as a stream of the split transport.
//!
//! Packets keep TCP end to end, and need no state at the gateway. A stream is better if TCP suffers from the hop
//! although it loses nothing of the connection: TCP starts slowly on a long hop, and repairs delay it on a lossy one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Probability};

/// Round-trip time of the hop from which on a stream is better even without losses (`docs/performance.md`, "Packets
/// or streams").
const LONG: Duration = Duration::from_millis(80);
/// Round-trip time below which packets are better despite any losses: the link layer repairs before TCP notices.
const SHORT: Duration = Duration::from_millis(15);
/// Share of lost frames from which on a stream is better, between the two round-trip times: 1 of 100.
const LOSSY: u64 = 1;
const LOSSY_OF: u64 = 100;

/// What is known of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HopCondition {
    /// Smallest recent round-trip time.
    pub round_trip: Option<Duration>,
    /// Share of lost frames, in the direction that loses more.
    pub loss: Option<Probability>,
}

/// What makes one way the better one.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Too few packets have crossed the hop for a measurement.
    #[default]
    Unmeasured,
    /// The round-trip time is short, so that repairs are fast.
    Short,
    /// The hop loses next to nothing, and its round-trip time is not long.
    Clean,
    /// The round-trip time is long.
    Long,
    /// The hop loses many frames, and its round-trip time is not short.
    Lossy,
}

impl Cause {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::Unmeasured,
        Self::Short,
        Self::Clean,
        Self::Long,
        Self::Lossy,
    ];

    /// Returns true if the reason is one for a stream.
    pub const fn splits(self) -> bool {
        matches!(self, Self::Long | Self::Lossy)
    }
}

/// By which way connections that begin now cross a hop, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// True if they cross as streams.
    pub split: bool,
    /// Reason for the choice.
    pub because: Cause,
    /// Condition of the hop at that time.
    #[serde(flatten)]
    pub hop: HopCondition,
}

impl Choice {
    /// Returns the better way across such a hop.
    pub fn of(hop: HopCondition) -> Self {
        let lossy = Probability::ratio(LOSSY, LOSSY_OF);
        let because = match (hop.round_trip, hop.loss) {
            (Some(round_trip), _) if round_trip >= LONG => Cause::Long,
            (Some(round_trip), _) if round_trip < SHORT => Cause::Short,
            (Some(_), Some(loss)) if loss >= lossy => Cause::Lossy,
            (Some(_), Some(_)) => Cause::Clean,
            _ => Cause::Unmeasured,
        };
        Self {
            split: because.splits(),
            because,
            hop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(round_trip: Option<u64>, loss: Option<u64>) -> Cause {
        let hop = HopCondition {
            round_trip: round_trip.map(Duration::from_millis),
            loss: loss.map(|permille| Probability::ratio(permille, 1_000)),
        };
        Choice::of(hop).because
    }

    #[test]
    fn a_stream_pays_on_long_hops_and_on_lossy_ones_that_are_not_short() {
        assert_eq!(choose(Some(100), Some(0)), Cause::Long);
        assert_eq!(choose(Some(600), None), Cause::Long, "that suffices");
        assert_eq!(choose(Some(30), Some(50)), Cause::Lossy);
        assert_eq!(choose(Some(30), Some(0)), Cause::Clean);
        assert_eq!(choose(Some(2), Some(50)), Cause::Short);
        let split: Vec<_> = Cause::ALL.into_iter().filter(|one| one.splits()).collect();
        assert_eq!(split, [Cause::Long, Cause::Lossy]);
    }

    #[test]
    fn who_does_not_know_the_hop_leaves_tcp_alone() {
        assert_eq!(choose(None, None), Cause::Unmeasured);
        assert_eq!(choose(Some(30), None), Cause::Unmeasured);
    }
}
