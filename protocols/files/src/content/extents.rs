//! The bytes read of a file, with read-ahead.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use super::{Span, touching};

#[derive(Debug, Clone)]
enum State {
    Wanted,
    Fetching {
        call: u64,
        /// True if it was written to meanwhile, so that the reply is out of date.
        stale: bool,
    },
    Ready(Bytes),
}

#[derive(Debug, Clone)]
struct Extent {
    length: u32,
    state: State,
}

impl Span for Extent {
    fn length(&self) -> u64 {
        u64::from(self.length)
    }
}

/// Extents of one file, by their offset. No two overlap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extents {
    by_offset: BTreeMap<u64, Extent>,
    wanted: BTreeSet<u64>,
    fetching: BTreeMap<u64, u64>,
    /// The end of the file at the server, if a READ has found it.
    end: Option<u64>,
}

impl Extents {
    /// Returns the end of the file at the server, if a READ has found it.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    fn insert(&mut self, offset: u64, extent: Extent) {
        match extent.state {
            State::Wanted => {
                self.wanted.insert(offset);
            }
            State::Fetching { call, .. } => {
                self.fetching.insert(call, offset);
            }
            State::Ready(_) => {}
        }
        self.by_offset.insert(offset, extent);
    }

    fn remove(&mut self, offset: u64) -> Option<Extent> {
        let extent = self.by_offset.remove(&offset)?;
        self.wanted.remove(&offset);
        if let State::Fetching { call, .. } = extent.state {
            self.fetching.remove(&call);
        }
        Some(extent)
    }

    /// Requests the missing parts of `range`, in blocks that end at multiples of `block` bytes.
    pub(crate) fn want(&mut self, range: &Range<u64>, block: u32) {
        let mut at = range.start;
        let stop = range.end.min(self.end.unwrap_or(u64::MAX));
        let mut gaps = Vec::new();
        for (offset, extent) in touching(&self.by_offset, range) {
            if offset > at {
                gaps.push(at..offset.min(stop));
            }
            at = offset + extent.length();
        }
        gaps.push(at..stop);
        for gap in gaps {
            self.want_gap(gap, u64::from(block));
        }
    }

    fn want_gap(&mut self, gap: Range<u64>, block: u64) {
        let mut at = gap.start;
        while at < gap.end {
            let stop = ((at / block + 1) * block).min(gap.end);
            let length = (stop - at) as u32;
            self.insert(
                at,
                Extent {
                    length,
                    state: State::Wanted,
                },
            );
            at = stop;
        }
    }

    /// Returns offset and length of the first bytes to request, at most `block`: adjacent extents are joined, and
    /// longer ones are cut.
    pub(crate) fn next_wanted(&mut self, block: u32) -> Option<(u64, u32)> {
        let offset = *self.wanted.first()?;
        let mut length = 0;
        while length < block
            && self.wanted.contains(&(offset + u64::from(length)))
            && let Some(extent) = self.remove(offset + u64::from(length))
        {
            length += extent.length;
        }
        let wanted = |length| Extent {
            length,
            state: State::Wanted,
        };
        if length > block {
            self.insert(offset + u64::from(block), wanted(length - block));
        }
        let length = length.min(block);
        self.insert(offset, wanted(length));
        Some((offset, length))
    }

    /// Records that `call` requests the extent at `offset`.
    pub(crate) fn asked(&mut self, offset: u64, call: u64) {
        if let Some(extent) = self.remove(offset) {
            let state = State::Fetching { call, stale: false };
            self.insert(offset, Extent { state, ..extent });
        }
    }

    /// Records the reply to a call. If the extent has become stale, or did not come whole, the missing part is no
    /// longer requested: [`want`](Self::want) it again.
    ///
    /// Returns the bytes that are present now, if all requested bytes came and nothing else was learned.
    pub(crate) fn fetched(
        &mut self,
        call: u64,
        data: Bytes,
        end_of_file: bool,
    ) -> Option<Range<u64>> {
        let offset = self.fetching.get(&call).copied()?;
        let extent = self.remove(offset)?;
        if matches!(extent.state, State::Fetching { stale: true, .. }) {
            return None;
        }
        let is_whole = data.len() as u64 == u64::from(extent.length);
        let length = (data.len() as u32).min(extent.length);
        if end_of_file {
            self.end = Some(offset + u64::from(length));
        }
        if length > 0 {
            self.insert(
                offset,
                Extent {
                    length,
                    state: State::Ready(data),
                },
            );
        }
        (is_whole && !end_of_file).then_some(offset..offset + u64::from(length))
    }

    /// Records that the call failed. Returns the range that it requested.
    pub(crate) fn failed(&mut self, call: u64) -> Option<Range<u64>> {
        let offset = self.fetching.get(&call).copied()?;
        let extent = self.remove(offset)?;
        Some(offset..offset + extent.length())
    }

    /// Returns the bytes of `range`, in pieces; `None` if some are missing.
    pub(crate) fn data(&self, range: &Range<u64>) -> Option<Vec<Bytes>> {
        let mut at = range.start;
        let mut pieces = Vec::new();
        while at < range.end {
            let (offset, extent) = self.by_offset.range(..=at).next_back()?;
            let State::Ready(data) = &extent.state else {
                return None;
            };
            let stop = (offset + extent.length()).min(range.end);
            if stop <= at {
                return None;
            }
            pieces.push(data.slice((at - offset) as usize..(stop - offset) as usize));
            at = stop;
        }
        Some(pieces)
    }

    /// Discards what is known of `range`, which was written to or may have changed at the server.
    pub(crate) fn spoil(&mut self, range: &Range<u64>) {
        if self.end.is_some_and(|end| range.end > end) {
            self.end = None;
        }
        let touched = touching(&self.by_offset, range).map(|(offset, _)| offset);
        for offset in touched.collect::<Vec<_>>() {
            let Some(extent) = self.by_offset.get_mut(&offset) else {
                continue;
            };
            match &mut extent.state {
                State::Wanted => {}
                State::Fetching { stale, .. } => *stale = true,
                State::Ready(_) => {
                    self.remove(offset);
                }
            }
        }
    }

    /// Forgets extents that end at or before `offset` and are not in flight.
    pub(crate) fn forget_before(&mut self, offset: u64) {
        let behind = self.by_offset.range(..offset);
        let idle = behind.filter(|(start, extent)| {
            **start + extent.length() <= offset && !matches!(extent.state, State::Fetching { .. })
        });
        for start in idle.map(|(start, _)| *start).collect::<Vec<_>>() {
            self.remove(start);
        }
    }

    /// Forgets every extent that is not in flight.
    pub(crate) fn forget(&mut self) {
        self.forget_before(u64::MAX);
        self.forget_end();
    }

    /// Forgets the end of the file, which may have moved.
    pub(crate) fn forget_end(&mut self) {
        self.end = None;
    }

    /// Returns true if nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.fetching.is_empty()
    }
}
