//! What one end has delivered, for another end that goes on with the rest.

use serde::{Deserialize, Serialize};
use units::RangeSet;

/// What one end has delivered: all that the other end need not send again by another association.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
pub struct Report {
    /// Streams that are open, by their numbers.
    pub(crate) streams: Vec<(u64, Delivered)>,
    /// Numbers of the streams that have ended.
    pub(crate) finished: RangeSet,
    /// Numbers of the brief packets that have come, or are too old to know.
    pub(crate) brief: RangeSet,
}

/// What has been delivered of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// Offset below which the stream has been read.
    pub(crate) read: u64,
    /// Bytes of the data of the packet behind that offset, or around it, that were delivered before the packet's end.
    pub(crate) ahead: u32,
}

impl Report {
    /// Returns what has been delivered of the stream of this number.
    pub(crate) fn of_stream(&self, number: u64) -> Delivered {
        let place = self.streams.binary_search_by_key(&number, |(one, _)| *one);
        place.map_or_else(|_| Delivered::default(), |place| self.streams[place].1)
    }
}

/// A report as it crosses a network. Any value of it is a report.
#[derive(Serialize, Deserialize)]
struct Fields {
    /// Number, offset and bytes ahead of each stream.
    streams: Vec<(u64, u64, u32)>,
    finished: Vec<(u64, u64)>,
    brief: Vec<(u64, u64)>,
}

impl From<Report> for Fields {
    fn from(report: Report) -> Self {
        let stream =
            |(number, delivered): (u64, Delivered)| (number, delivered.read, delivered.ahead);
        let ranges = |set: &RangeSet| set.iter().map(|range| (range.start, range.end)).collect();
        Self {
            streams: report.streams.into_iter().map(stream).collect(),
            finished: ranges(&report.finished),
            brief: ranges(&report.brief),
        }
    }
}

impl From<Fields> for Report {
    fn from(fields: Fields) -> Self {
        let stream = |(number, read, ahead)| (number, Delivered { read, ahead });
        let mut streams: Vec<_> = fields.streams.into_iter().map(stream).collect();
        streams.sort_by_key(|(number, _)| *number);
        let set = |ranges: Vec<(u64, u64)>| {
            let mut set = RangeSet::default();
            for (start, end) in ranges {
                set.insert(start..end.max(start));
            }
            set
        };
        Self {
            streams,
            finished: set(fields.finished),
            brief: set(fields.brief),
        }
    }
}
