//! The bytes of files: what was written, and what was read ahead.

mod extents;
mod ranges;

use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) use extents::Extents;
pub(crate) use ranges::Ranges;

/// What lies somewhere in a file.
trait Span {
    /// How long it is, in bytes.
    fn length(&self) -> u64;
}

/// Of pieces by their offset, no two of which overlap: those that share bytes with `range`.
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
