//! The contents of files: written bytes, and bytes read.

mod extents;
mod ranges;

use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) use extents::Extents;
pub(crate) use ranges::Ranges;

/// A piece of a file.
trait Span {
    /// Returns its length, in bytes.
    fn length(&self) -> u64;
}

/// Returns those of `pieces` (by offset, without overlaps) that share bytes with `range`.
fn touching<'a, P: Span>(
    pieces: &'a BTreeMap<u64, P>,
    range: &Range<u64>,
) -> impl Iterator<Item = (u64, &'a P)> + use<'a, P> {
    let start = range.start;
    let before = pieces.range(..start).next_back();
    let before = before.filter(move |(offset, piece)| *offset + piece.length() > start);
    // An empty range, or one that ends before it begins, touches nothing behind its start.
    let inside = pieces.range(start..range.end.max(start));
    before
        .into_iter()
        .chain(inside)
        .map(|(offset, piece)| (*offset, piece))
}
