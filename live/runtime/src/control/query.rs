//! The queries that a daemon answers.

use units::Duration;

/// The queries that a daemon supports.
pub(super) const STATUS: &str = "status";
pub(super) const SUMMARY: &str = "summary";
pub(super) const RELOAD: &str = "reload";
pub(super) const STOP: &str = "stop";
pub(super) const MOVE: &str = "move";
pub(super) const DRAIN: &str = "drain";
pub(super) const DRAIN_END: &str = "drain end";
pub(crate) const HAND_OVER: &str = "hand over";
pub(super) const ANNOUNCE: &str = "announce";
/// Longest time ahead for which a hand-off is announced.
pub const ANNOUNCED_MOST: Duration = Duration::from_secs(60);

/// A query that the daemon answers at once. Of peers it shows a page, from this number on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    /// Everything: the query is `status`, or `status NUMBER`.
    Status { from: usize },
    /// A few numbers of each peer: `summary`, or `summary NUMBER`.
    Summary { from: usize },
    /// The gateway with this name is to serve this mobile host: `move NAME`.
    Move { to: String },
    /// This mobile host is to compare gateways again: `move`.
    Compare,
    /// The hop of this mobile host, or its hop to the gateway with this name, is about to change or to end, in this
    /// time: `announce MICROSECONDS`, or `announce MICROSECONDS NAME`.
    Announce {
        within: Duration,
        gateway: Option<String>,
    },
    /// The mobile hosts of this gateway are to leave it: `drain`. They may stay: `drain end`.
    Drain { begins: bool },
}

impl Query {
    /// Reads a query; `None` if it is another one.
    pub(super) fn parse(question: &[u8]) -> Option<Self> {
        let question = str::from_utf8(question).ok()?;
        let (name, from) = question.split_once(' ').unwrap_or((question, "0"));
        if let DRAIN | DRAIN_END = question {
            let begins = question == DRAIN;
            return Some(Self::Drain { begins });
        }
        if question == MOVE {
            return Some(Self::Compare);
        }
        if name == MOVE {
            return Some(Self::Move { to: from.into() });
        }
        if name == ANNOUNCE {
            let (within, gateway) = match from.split_once(' ') {
                Some((within, gateway)) => (within, Some(gateway.into())),
                None => (from, None),
            };
            let within = within.parse().ok().map(Duration::from_micros)?;
            return (within <= ANNOUNCED_MOST).then_some(Self::Announce { within, gateway });
        }
        let from = from.parse().ok()?;
        match name {
            STATUS => Some(Self::Status { from }),
            SUMMARY => Some(Self::Summary { from }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_view_and_a_peer() {
        let queries = [
            "status",
            "summary",
            "status 7",
            "summary 4000",
            "move west",
            "move",
            "drain",
            "drain end",
            "announce 500000",
            "announce 0 west wing",
        ];
        let read = queries.map(str::as_bytes).map(Query::parse);
        let expected = [
            Query::Status { from: 0 },
            Query::Summary { from: 0 },
            Query::Status { from: 7 },
            Query::Summary { from: 4_000 },
            Query::Move { to: "west".into() },
            Query::Compare,
            Query::Drain { begins: true },
            Query::Drain { begins: false },
            Query::Announce {
                within: Duration::from_millis(500),
                gateway: None,
            },
            Query::Announce {
                within: Duration::ZERO,
                gateway: Some("west wing".into()),
            },
        ];
        assert_eq!(read, expected.map(Some));
        for other in [
            "",
            "stop",
            "status -1",
            "status 1 2",
            "summary x",
            "announce -1",
            "announce 60000001",
            "status 99999999999999999999",
        ] {
            assert_eq!(Query::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(Query::parse(&[0xff]), None);
    }
}
