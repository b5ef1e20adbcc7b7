//! The record of choices for connections, if each has its own choice.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::SeqNumber;
use wire::flow::Ends;

use crate::{Cause, Choice};

/// Number of choices that are kept, so that a repeated request goes the same way.
const REMEMBERED: usize = 4_096;
/// Number of choices that are reported.
const TOLD: usize = 16;

/// A choice, for who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chosen {
    /// Address of the host that requested the connection.
    pub source: SocketAddr,
    /// Destination address.
    pub destination: SocketAddr,
    /// Way, reason and condition of the hop.
    #[serde(flatten)]
    pub choice: Choice,
}

/// Connections for which the same was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// Reason of the choice.
    pub because: Cause,
    /// True if they were split.
    pub split: bool,
    /// Number of connections.
    pub connections: u64,
}

/// All that was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceStatus {
    /// Number of connections for each reason.
    pub counts: Vec<Count>,
    /// Latest choices, the last one first.
    pub latest: Vec<Chosen>,
}

/// Recent choices.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    counts: [u64; Cause::ALL.len()],
    by_ends: BTreeMap<Ends, (SeqNumber, Choice)>,
    /// Connections in the order of their choices.
    order: VecDeque<Ends>,
}

impl Choices {
    /// Records the choice for a connection. Returns true if it is split: `choice` is the better way now, but an earlier
    /// choice for the same request has precedence, since its packets may still be in flight.
    pub(crate) fn splits(&mut self, ends: Ends, sequence: SeqNumber, choice: Choice) -> bool {
        if let Some((former, chosen)) = self.by_ends.get(&ends)
            && *former == sequence
        {
            return chosen.split;
        }
        if self.by_ends.insert(ends, (sequence, choice)).is_none() {
            self.order.push_back(ends);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_ends.remove(&oldest);
        }
        self.counts[choice.because as usize] += 1;
        choice.split
    }

    /// Returns the report of choices, if there are any.
    pub(crate) fn status(&self) -> Option<ChoiceStatus> {
        let latest = self.order.iter().rev().take(TOLD).filter_map(|ends| {
            let (_, choice) = *self.by_ends.get(ends)?;
            Some(Chosen {
                source: ends.source,
                destination: ends.destination,
                choice,
            })
        });
        let counts = Cause::ALL.into_iter().zip(self.counts);
        let counts = counts.map(|(because, connections)| Count {
            because,
            split: because.splits(),
            connections,
        });
        (!self.order.is_empty()).then(|| ChoiceStatus {
            counts: counts.collect(),
            latest: latest.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(port: u16) -> Ends {
        Ends {
            source: ([10, 73, 0, 2], port).into(),
            destination: ([192, 0, 2, 1], 80).into(),
        }
    }

    fn because(because: Cause) -> Choice {
        Choice {
            split: because.splits(),
            because,
            ..Choice::default()
        }
    }

    fn count(status: &ChoiceStatus, because: Cause) -> u64 {
        let mut counts = status.counts.iter();
        counts
            .find(|count| count.because == because)
            .unwrap()
            .connections
    }

    #[test]
    fn a_request_that_comes_again_goes_as_before() {
        let mut choices = Choices::default();
        let (first, second) = (SeqNumber(7), SeqNumber(8));
        assert!(choices.splits(ends(1), first, because(Cause::Lossy)));
        assert!(choices.splits(ends(1), first, because(Cause::Clean)));
        assert!(!choices.splits(ends(1), second, because(Cause::Clean)));
        let status = choices.status().unwrap();
        assert_eq!(status.latest.len(), 1);
        assert!(!status.latest[0].choice.split);
        assert_eq!(count(&status, Cause::Lossy), 1);
        assert_eq!(count(&status, Cause::Clean), 1);
    }

    #[test]
    fn a_flood_of_requests_is_forgotten() {
        let mut choices = Choices::default();
        for port in 0..10_000 {
            choices.splits(ends(port), SeqNumber(1), because(Cause::Long));
        }
        assert_eq!(
            (choices.order.len(), choices.by_ends.len()),
            (REMEMBERED, REMEMBERED)
        );
        let status = choices.status().unwrap();
        assert_eq!(status.latest.len(), TOLD);
        assert_eq!(status.latest[0].source.port(), 9_999);
        assert_eq!(count(&status, Cause::Long), 10_000);
    }
}
