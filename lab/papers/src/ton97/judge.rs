//! The decision whether a gap in a flow's sequence numbers is congestion or corruption, at a radio router that forwards
//! the flow and loses whole packets, headers included.
//!
//! The comparison's discussion proposes it for packet radio networks: routers report the length of their queues to
//! their neighbours. A gap that appears while the neighbour's queue is long counts as congestion, any other as
//! corruption, and acknowledgements that pass back are marked accordingly. If several routers of the path judge, the
//! one nearer to the sender knows better which packets never reached it, so it replaces the marks of those behind it
//! for these packets.

use tcp::Marks;
use units::SeqNumber;
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions};

/// Largest number of gaps that are remembered; later ones are not judged, so not marked.
const GAPS_MAX: usize = 64;
/// Room for options in a header, and the sizes of marks, blocks and timestamps in it, in bytes.
const ROOM: usize = 40;
const MARKS: usize = 4 + 2 * RANGE;
const BLOCKS: usize = 2;
const TIMESTAMPS: usize = 10;
const RANGE: usize = 8;

/// Basis of the judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The truth, as if headers survived corruption: a gap that was [heard](Judge::heard) is corruption, all others are
    /// congestion.
    Heard,
    /// Queue length of the neighbour, in packets: from this length on, gaps are congestion. They also are before its
    /// first report.
    Exchanged(u64),
    /// None: all gaps are corruption.
    All,
}

/// A range of data that did not arrive.
#[derive(Debug, Clone, Copy)]
struct Gap {
    range: SeqRange,
    air: bool,
}

/// The judge of one flow at one router.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    basis: Basis,
    marks: Marks,
    /// Number of packets that waited at the neighbour, by its last report.
    told: Option<u64>,
    /// Sequence number after the last data of the flow that arrived.
    next: Option<SeqNumber>,
    /// Disjoint gaps, in the order of their detection.
    gaps: Vec<Gap>,
}

impl Judge {
    /// Creates a judge that writes `marks` into acknowledgements.
    pub(crate) fn new(basis: Basis, marks: Marks) -> Self {
        Self {
            basis,
            marks,
            told: None,
            next: None,
            gaps: Vec::new(),
        }
    }

    /// Takes the report of the neighbour that the flow comes from: this many packets wait there.
    pub(crate) fn told(&mut self, packets: u64) {
        self.told = Some(packets);
    }

    /// Takes the range of a packet that arrived from the neighbour; it is empty for the SYN.
    pub(crate) fn came(&mut self, range: SeqRange) {
        let air = match self.basis {
            Basis::Heard => false,
            Basis::Exchanged(threshold) => self.told.is_some_and(|packets| packets < threshold),
            Basis::All => true,
        };
        self.reach(range, air);
        self.fill(range);
    }

    /// Takes the range of a packet that arrived with an error but a correct header.
    pub(crate) fn heard(&mut self, range: SeqRange) {
        if self.basis != Basis::Heard {
            return;
        }
        let missing: Vec<SeqRange> = self.gaps.iter().map(|gap| gap.range).collect();
        let missing = missing.into_iter().filter_map(|gap| common(gap, range));
        let news = self.reach(range, false).into_iter();
        for range in missing.chain(news).collect::<Vec<_>>() {
            self.fill(range);
            self.note(range, true);
        }
    }

    /// Marks an acknowledgement of `number` that passes back.
    pub(crate) fn mark(&mut self, number: SeqNumber, options: &mut TcpSegmentOptions) {
        self.gaps.retain(|gap| gap.range.end > number);
        options.air_loss = match self.marks {
            Marks::Off => options.air_loss,
            Marks::Next => self.next_mark(number, options.air_loss),
            Marks::Ranges => self.range_marks(number, &options.air_loss),
        };
        if let AirLoss::Ranges(_) = options.air_loss {
            let timestamps = options.timestamps.map_or(0, |_| TIMESTAMPS);
            let blocks = (ROOM - MARKS - BLOCKS - timestamps) / RANGE;
            options.sack = options.sack.iter().take(blocks).collect();
        }
    }

    fn next_mark(&self, number: SeqNumber, theirs: AirLoss) -> AirLoss {
        let mut gaps = self.gaps.iter();
        match gaps.find(|gap| gap.range.contains(number)) {
            Some(gap) if gap.air => AirLoss::Next,
            Some(_) => AirLoss::None,
            None => theirs,
        }
    }

    /// Returns the nearest and the farthest range after the acknowledgement that were lost on the air, by this router's
    /// judgement or, outside its own gaps, by that of the routers behind it.
    fn range_marks(&self, number: SeqNumber, theirs: &AirLoss) -> AirLoss {
        let theirs = match theirs {
            AirLoss::Ranges(ranges) => ranges.as_slice(),
            AirLoss::None | AirLoss::Next => &[],
        };
        let mut all = theirs.to_vec();
        for gap in &self.gaps {
            all = all
                .into_iter()
                .flat_map(|range| without(range, gap.range))
                .collect();
        }
        let ours = self.gaps.iter().filter(|gap| gap.air);
        all.extend(ours.map(|gap| gap.range));
        all.sort_by_key(|range| range.start.distance_from(number));
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            return AirLoss::None;
        };
        let mut marks = SackRanges::default();
        marks.push(*first);
        if last != first {
            marks.push(*last);
        }
        AirLoss::Ranges(marks)
    }

    /// Extends the flow to `range`; missing data before it are a gap. Returns the part of the range that is new.
    fn reach(&mut self, range: SeqRange, air: bool) -> Option<SeqRange> {
        let next = *self.next.get_or_insert(range.start);
        let missing = SeqRange {
            start: next,
            end: range.start,
        };
        if !missing.is_empty() {
            self.note(missing, air);
        }
        if range.end > next {
            self.next = Some(range.end);
        }
        let start = if range.start > next {
            range.start
        } else {
            next
        };
        let news = SeqRange {
            start,
            end: range.end,
        };
        (!news.is_empty()).then_some(news)
    }

    fn note(&mut self, range: SeqRange, air: bool) {
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(Gap { range, air });
        }
    }

    fn fill(&mut self, range: SeqRange) {
        if self.gaps.is_empty() || range.is_empty() {
            return;
        }
        for gap in std::mem::take(&mut self.gaps) {
            for rest in without(gap.range, range) {
                self.note(rest, gap.air);
            }
        }
    }
}

/// Returns the intersection of two ranges.
fn common(one: SeqRange, other: SeqRange) -> Option<SeqRange> {
    let start = if one.start > other.start {
        one.start
    } else {
        other.start
    };
    let end = if one.end < other.end {
        one.end
    } else {
        other.end
    };
    let both = SeqRange { start, end };
    (!both.is_empty()).then_some(both)
}

/// Returns the parts of a range outside `hole`.
fn without(range: SeqRange, hole: SeqRange) -> impl Iterator<Item = SeqRange> {
    let parts = match common(range, hole) {
        None => [Some(range), None],
        Some(both) => {
            let before = SeqRange {
                start: range.start,
                end: both.start,
            };
            let behind = SeqRange {
                start: both.end,
                end: range.end,
            };
            [Some(before), Some(behind)]
        }
    };
    let parts = parts.into_iter().flatten();
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
