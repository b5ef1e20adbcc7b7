//! The content of a file: as clients see it, and as a crash leaves it.

use std::ops::Range;

use units::RangeSet;

use super::chunks::{CHUNK, Chunks, indices};

/// Largest number of ranges of unstable data in a file; with more, all become stable. A server may write them at any
/// time, and the memory for them needs a bound.
const PIECES_MAX: usize = 65_536;

/// Content of a file. `seen` and `stored` differ in `unstable` bytes only, and in the length that these need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    seen: Chunks,
    stored: Chunks,
    unstable: RangeSet,
}

impl Content {
    /// Returns the content as clients see it.
    pub(crate) fn seen(&self) -> &Chunks {
        &self.seen
    }

    /// Returns the content as a crash leaves it.
    pub(crate) fn stored(&self) -> &Chunks {
        &self.stored
    }

    /// Writes data; `stable` if a crash must not lose them.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8], stable: bool) {
        let range = offset..offset + data.len() as u64;
        self.seen.write(offset, data);
        self.unstable.insert(range.clone());
        if stable {
            self.commit(&range);
        } else if self.unstable.len() > PIECES_MAX {
            self.commit(&(0..u64::MAX));
        }
    }

    /// Makes the data of `range` stable.
    pub(crate) fn commit(&mut self, range: &Range<u64>) {
        let parts: Vec<_> = self.unstable.within(range).collect();
        self.unstable.remove(range);
        for part in parts {
            self.stored.grow(part.end);
            for index in indices(&part) {
                let chunk = index * CHUNK..(index + 1) * CHUNK;
                if self.unstable.first_within(&chunk).is_some() {
                    let piece = part.start.max(chunk.start)..part.end.min(chunk.end);
                    self.stored.copy(&piece, &self.seen);
                } else {
                    self.stored.share(index, &self.seen);
                }
            }
        }
    }

    /// Sets the length of the file, which is stable at once.
    pub(crate) fn resize(&mut self, size: u64) {
        self.seen.resize(size);
        self.stored.resize(size);
        self.unstable.remove(&(size..u64::MAX));
    }

    /// Loses the unstable data; returns the number of bytes.
    pub(crate) fn crash(&mut self) -> u64 {
        let lost = self.unstable.total();
        self.seen = self.stored.clone();
        self.unstable = RangeSet::default();
        lost
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
