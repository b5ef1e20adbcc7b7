//! What one end has received, for an end that goes on elsewhere.

use units::RangeSet;

/// What one end has received: all that the other end need not send again.
///
/// With it both ends can begin to number their frames anew, for instance when the other gateway of a site continues a
/// mobile host's association: what was in flight is forgotten, and what the report does not name is sent again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Streams that are open.
    pub(crate) streams: Vec<StreamReport>,
    /// Numbers of the streams that have ended.
    pub(crate) finished: RangeSet,
    /// Numbers of the brief packets that have come, or are too old to know.
    pub(crate) brief: RangeSet,
}

/// What has come of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamReport {
    pub(crate) number: u64,
    /// Bytes received, as ranges of its offsets.
    pub(crate) received: RangeSet,
}

/// Reason why a report does not fit the state of this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The other end has lost what it had confirmed, and this end does not have it any more.
    #[error("the other end lacks data of stream {0} that it has confirmed")]
    Lacks(u64),
    /// The other end has seen the end of a stream that goes on.
    #[error("the other end has ended stream {0}, which goes on")]
    Ended(u64),
}

impl Report {
    /// Returns what has come of the stream of this number.
    pub(crate) fn of_stream(&self, number: u64) -> Option<&RangeSet> {
        let place = self.streams.binary_search_by_key(&number, |one| one.number);
        Some(&self.streams.get(place.ok()?)?.received)
    }
}
