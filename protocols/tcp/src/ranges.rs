//! Sets of positions, as few ranges.

/// Ranges that a set holds at least; more than a window of 64 KiB can have, and a bound for what a peer can fill.
const RANGES: usize = 256;
/// Bytes of a buffer for each range beyond that.
const BYTES_EACH: u64 = 4_096;

/// Positions from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    pub(crate) fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    pub(crate) fn length(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.end <= self.start
    }

    pub(crate) fn contains(self, position: u64) -> bool {
        self.start <= position && position < self.end
    }
}

/// A set of positions: disjoint spans in ascending order, none next to another.
#[derive(Debug, Clone)]
pub(crate) struct RangeSet {
    spans: Vec<Span>,
    most: usize,
}

impl Default for RangeSet {
    fn default() -> Self {
        Self::within(0)
    }
}

impl RangeSet {
    /// A set for positions within a buffer of so many bytes.
    pub(crate) fn within(buffer: u64) -> Self {
        Self {
            spans: Vec::new(),
            most: RANGES.max((buffer / BYTES_EACH) as usize),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Span> + '_ {
        self.spans.iter().copied()
    }

    /// The position behind the last.
    pub(crate) fn end(&self) -> Option<u64> {
        self.spans.last().map(|span| span.end)
    }

    /// The span that `position` lies in.
    pub(crate) fn around(&self, position: u64) -> Option<Span> {
        let place = self.spans.partition_point(|span| span.end <= position);
        let span = self.spans.get(place).copied();
        span.filter(|span| span.contains(position))
    }

    /// Where the first span at or behind `position` starts.
    pub(crate) fn start_from(&self, position: u64) -> Option<u64> {
        let place = self.spans.partition_point(|span| span.end <= position);
        self.spans.get(place).map(|span| span.start.max(position))
    }

    /// Whether the whole of `span` is in the set.
    pub(crate) fn covers(&self, span: Span) -> bool {
        let around = self.around(span.start);
        around.is_some_and(|around| span.end <= around.end)
    }

    /// Adds a span; false if there is no room for it.
    pub(crate) fn insert(&mut self, span: Span) -> bool {
        if span.is_empty() {
            return true;
        }
        let first = self.spans.partition_point(|known| known.end < span.start);
        let behind = self.spans.partition_point(|known| known.start <= span.end);
        if first == behind {
            let room = self.spans.len() < self.most;
            if room {
                self.spans.insert(first, span);
            }
            return room;
        }
        let start = self.spans[first].start.min(span.start);
        let end = self.spans[behind - 1].end.max(span.end);
        self.spans[first] = Span { start, end };
        self.spans.drain(first + 1..behind);
        true
    }

    /// Removes a span. Where that would take a range more than there may be, what lies behind goes too.
    pub(crate) fn remove(&mut self, span: Span) {
        let Some(place) = self.spans.iter().position(|known| known.end > span.start) else {
            return;
        };
        let mut rest = self.spans.split_off(place);
        for known in &mut rest {
            let before = Span::new(known.start, known.end.min(span.start));
            let behind = Span::new(known.start.max(span.end), known.end);
            for part in [before, behind] {
                if !part.is_empty() && self.spans.len() < self.most {
                    self.spans.push(part);
                }
            }
        }
    }

    /// Removes everything before `position`.
    pub(crate) fn remove_before(&mut self, position: u64) {
        if self.spans.is_empty() {
            return;
        }
        let gone = self.spans.partition_point(|span| span.end <= position);
        self.spans.drain(..gone);
        if let Some(first) = self.spans.first_mut() {
            first.start = first.start.max(position);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.spans.clear();
    }
}
