//! By which way a TCP connection crosses the hop, where that is chosen for each: as packets, which the link layer
//! repairs, or as a stream of the split transport.
//!
//! Packets leave TCP whole from end to end, and ask for no state at the gateway. A stream pays where TCP suffers from
//! the hop although nothing is lost of it: it starts slowly on a long one, and repairs delay it on a lossy one.

use serde::{Deserialize, Serialize};
use units::{Duration, Probability};

/// From this round trip of the hop on a stream pays even where nothing is lost (`docs/performance.md`, "Packets or
/// streams").
const LONG: Duration = Duration::from_millis(80);
/// Below this one it does not, whatever is lost: the link layer repairs sooner than TCP notices.
const SHORT: Duration = Duration::from_millis(15);
/// Between both it pays from this share of lost frames on.
const LOSSY: u64 = 1;
const LOSSY_OF: u64 = 100;

/// What is known of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HopCondition {
    /// Its smallest round trip of late.
    pub round_trip: Option<Duration>,
    /// The share of frames that it loses, in the direction that loses more.
    pub loss: Option<Probability>,
}

/// What makes one way the better one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// Too little has crossed the hop yet to know it.
    #[default]
    Unmeasured,
    /// Its round trip is short, so that repairs are soon there.
    Short,
    /// It loses next to nothing, and its round trip is not long.
    Clean,
    /// Its round trip is long.
    Long,
    /// It loses much, and its round trip is not short.
    Lossy,
}

impl Because {
    /// All that there are.
    pub const ALL: [Self; 5] = [
        Self::Unmeasured,
        Self::Short,
        Self::Clean,
        Self::Long,
        Self::Lossy,
    ];

    /// Whether it speaks for a stream.
    pub const fn splits(self) -> bool {
        matches!(self, Self::Long | Self::Lossy)
    }
}

/// By which way connections that begin now cross a hop, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
        let lossy = Probability::ratio(LOSSY, LOSSY_OF);
        let because = match (hop.round_trip, hop.loss) {
            (Some(round_trip), _) if round_trip >= LONG => Because::Long,
            (Some(round_trip), _) if round_trip < SHORT => Because::Short,
            (Some(_), Some(loss)) if loss >= lossy => Because::Lossy,
            (Some(_), Some(_)) => Because::Clean,
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
    fn a_stream_pays_on_long_hops_and_on_lossy_ones_that_are_not_short() {
        assert_eq!(choose(Some(100), Some(0)), Because::Long);
        assert_eq!(choose(Some(600), None), Because::Long, "that suffices");
        assert_eq!(choose(Some(30), Some(50)), Because::Lossy);
        assert_eq!(choose(Some(30), Some(0)), Because::Clean);
        assert_eq!(choose(Some(2), Some(50)), Because::Short);
        let split: Vec<_> = Because::ALL
            .into_iter()
            .filter(|one| one.splits())
            .collect();
        assert_eq!(split, [Because::Long, Because::Lossy]);
    }

    #[test]
    fn who_does_not_know_the_hop_leaves_tcp_alone() {
        assert_eq!(choose(None, None), Because::Unmeasured);
        assert_eq!(choose(Some(30), None), Because::Unmeasured);
    }
}
