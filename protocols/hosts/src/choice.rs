//! By which way a TCP connection crosses the hop, where that is chosen for each: as packets, which the link layer
//! repairs, or as a stream of the split transport.
//!
//! Packets leave TCP whole from end to end, and ask for no state at the gateway. A stream pays where TCP suffers from
//! the hop although nothing is lost of it: it starts slowly on a long one, and repairs delay it on a lossy one.

use serde::Serialize;
use units::{Duration, Probability};

/// From this round trip of the hop on a stream pays (`docs/performance.md`, "Packets or streams").
const LONG: Duration = Duration::from_millis(30);
/// From this share of lost frames on it pays.
const LOSSY: u64 = 2;
const LOSSY_OF: u64 = 100;

/// What is known of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct HopCondition {
    /// Its smallest round trip of late.
    pub round_trip: Option<Duration>,
    /// The share of frames that it loses, in the direction that loses more.
    pub loss: Option<Probability>,
}

/// What makes one way the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// Too little has crossed the hop yet to know it.
    #[default]
    Unmeasured,
    /// Its round trip is short, and it loses little.
    ShortAndClean,
    /// Its round trip is long.
    Long,
    /// It loses much.
    Lossy,
}

impl Because {
    /// All that there are.
    pub const ALL: [Self; 4] = [
        Self::Unmeasured,
        Self::ShortAndClean,
        Self::Long,
        Self::Lossy,
    ];

    /// Whether it speaks for a stream.
    pub const fn splits(self) -> bool {
        matches!(self, Self::Long | Self::Lossy)
    }
}

/// By which way connections that begin now cross a hop, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Choice {
    /// Whether as streams.
    pub split: bool,
    /// Why.
    pub because: Because,
    /// The hop, as it was then.
    #[serde(flatten)]
    pub hop: HopCondition,
}

impl Choice {
    /// The better way across such a hop.
    pub fn of(hop: HopCondition) -> Self {
        let is_long = hop.round_trip.is_some_and(|round_trip| round_trip >= LONG);
        let lossy = Probability::ratio(LOSSY, LOSSY_OF);
        let because = match (hop.round_trip, hop.loss) {
            _ if is_long => Because::Long,
            (_, Some(loss)) if loss >= lossy => Because::Lossy,
            (Some(_), Some(_)) => Because::ShortAndClean,
            _ => Because::Unmeasured,
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

    fn choose(round_trip: Option<u64>, loss: Option<u64>) -> Because {
        let hop = HopCondition {
            round_trip: round_trip.map(Duration::from_millis),
            loss: loss.map(|permille| Probability::ratio(permille, 1_000)),
        };
        Choice::of(hop).because
    }

    #[test]
    fn a_stream_pays_on_long_hops_and_on_lossy_ones() {
        assert_eq!(choose(Some(100), Some(0)), Because::Long);
        assert_eq!(choose(Some(2), Some(50)), Because::Lossy);
        assert_eq!(choose(Some(2), Some(0)), Because::ShortAndClean);
        assert!(Because::Long.splits() && Because::Lossy.splits());
        assert!(!Because::ShortAndClean.splits());
    }

    #[test]
    fn who_does_not_know_the_hop_leaves_tcp_alone() {
        assert_eq!(choose(None, None), Because::Unmeasured);
        assert_eq!(choose(Some(2), None), Because::Unmeasured);
        assert!(!Because::Unmeasured.splits());
        assert_eq!(choose(Some(600), None), Because::Long, "that suffices");
    }
}
