//! Bytes of a file, most of which may be zeros that take no room.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What room is given in, in bytes.
pub(crate) const CHUNK: u64 = 4_096;

type Chunk = [u8; CHUNK as usize];

/// A length, and chunks of content; where there is none, it is zeros. Copies share their chunks until one of them
/// writes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunks {
    size: u64,
    chunks: BTreeMap<u64, Arc<Chunk>>,
}

/// The chunks that `range` lies in.
pub(crate) fn indices(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() {
        0..0
    } else {
        range.start / CHUNK..range.end.div_ceil(CHUNK)
    }
}

/// The part of `range` that lies in chunk `index`.
fn part(range: &Range<u64>, index: u64) -> Range<u64> {
    let start = index * CHUNK;
    range.start.max(start)..range.end.min(start + CHUNK)
}

/// `range` counted from `origin`.
fn seen_from(origin: u64, range: &Range<u64>) -> Range<usize> {
    (range.start - origin) as usize..(range.end - origin) as usize
}

impl Chunks {
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// How many chunks take room.
    pub(crate) fn count(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// How many more chunks would take room if `range` were written.
    pub(crate) fn missing(&self, range: &Range<u64>) -> u64 {
        let indices = indices(range);
        let present = self.chunks.range(indices.clone()).count() as u64;
        indices.end - indices.start - present
    }

    /// Appends the bytes of `range`, which ends within the file.
    pub(crate) fn read(&self, range: &Range<u64>, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + (range.end - range.start) as usize, 0);
        for (&index, chunk) in self.chunks.range(indices(range)) {
            let part = part(range, index);
            let target = &mut bytes[start..][seen_from(range.start, &part)];
            target.copy_from_slice(&chunk[seen_from(index * CHUNK, &part)]);
        }
    }

    /// Puts `data` at `offset`, and makes the file as long as that needs.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        let range = offset..offset + data.len() as u64;
        for index in indices(&range) {
            let part = part(&range, index);
            let source = &data[seen_from(offset, &part)];
            self.chunk(index)[seen_from(index * CHUNK, &part)].copy_from_slice(source);
        }
        self.grow(range.end);
    }

    /// Makes the file so long at least.
    pub(crate) fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// Makes the file so long: cuts it, or adds zeros.
    pub(crate) fn resize(&mut self, size: u64) {
        if size < self.size {
            self.chunks.split_off(&size.div_ceil(CHUNK));
            let rest = (size % CHUNK) as usize;
            if rest > 0 && self.chunks.contains_key(&(size / CHUNK)) {
                self.chunk(size / CHUNK)[rest..].fill(0);
            }
        }
        self.size = size;
    }

    /// Makes chunk `index` what it is in `other`, and shares it.
    pub(crate) fn share(&mut self, index: u64, other: &Self) {
        if let Some(chunk) = other.chunks.get(&index) {
            self.chunks.insert(index, chunk.clone());
        }
    }

    /// Makes the bytes of `range`, which lies within one chunk, what they are in `other`.
    pub(crate) fn copy(&mut self, range: &Range<u64>, other: &Self) {
        let mut bytes = Vec::new();
        other.read(range, &mut bytes);
        self.write(range.start, &bytes);
    }

    /// Whether chunk `index` takes its room once for both.
    #[cfg(test)]
    pub(crate) fn shares(&self, index: u64, other: &Self) -> bool {
        let both = (self.chunks.get(&index), other.chunks.get(&index));
        matches!(both, (Some(one), Some(two)) if Arc::ptr_eq(one, two))
    }

    fn chunk(&mut self, index: u64) -> &mut Chunk {
        let chunk = self.chunks.entry(index);
        Arc::make_mut(chunk.or_insert_with(|| Arc::new([0; CHUNK as usize])))
    }
}
