//! Content of a file with holes: zeros that take no room.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Unit of allocation, in bytes.
pub(crate) const CHUNK: u64 = 4_096;

type Chunk = [u8; CHUNK as usize];

/// A length, and chunks of content; missing chunks are zeros. Copies share their chunks until one of them is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunks {
    size: u64,
    chunks: BTreeMap<u64, Arc<Chunk>>,
}

/// Returns the indices of the chunks that `range` touches.
pub(crate) fn indices(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() {
        0..0
    } else {
        range.start / CHUNK..range.end.div_ceil(CHUNK)
    }
}

/// Returns the part of `range` that lies in chunk `index`.
fn part(range: &Range<u64>, index: u64) -> Range<u64> {
    let start = index * CHUNK;
    range.start.max(start)..range.end.min(start + CHUNK)
}

/// Returns `range` relative to `origin`.
fn seen_from(origin: u64, range: &Range<u64>) -> Range<usize> {
    (range.start - origin) as usize..(range.end - origin) as usize
}

impl Chunks {
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of allocated chunks.
    pub(crate) fn count(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// Returns the number of chunks to allocate for a write of `range`.
    pub(crate) fn missing(&self, range: &Range<u64>) -> u64 {
        let indices = indices(range);
        let present = self.chunks.range(indices.clone()).count() as u64;
        indices.end - indices.start - present
    }

    /// Appends the bytes of `range`, which must end within the file.
    pub(crate) fn read(&self, range: &Range<u64>, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + (range.end - range.start) as usize, 0);
        for (&index, chunk) in self.chunks.range(indices(range)) {
            let part = part(range, index);
            let target = &mut bytes[start..][seen_from(range.start, &part)];
            target.copy_from_slice(&chunk[seen_from(index * CHUNK, &part)]);
        }
    }

    /// Writes `data` at `offset`, and extends the file if needed.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        let range = offset..offset + data.len() as u64;
        for index in indices(&range) {
            let part = part(&range, index);
            let source = &data[seen_from(offset, &part)];
            self.chunk(index)[seen_from(index * CHUNK, &part)].copy_from_slice(source);
        }
        self.grow(range.end);
    }

    /// Extends the file to at least `size` bytes.
    pub(crate) fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// Sets the length of the file: cuts it, or adds zeros.
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

    /// Replaces chunk `index` by that of `other`, and shares it.
    pub(crate) fn share(&mut self, index: u64, other: &Self) {
        if let Some(chunk) = other.chunks.get(&index) {
            self.chunks.insert(index, chunk.clone());
        }
    }

    /// Replaces the bytes of `range`, which lies within one chunk, by those of `other`.
    pub(crate) fn copy(&mut self, range: &Range<u64>, other: &Self) {
        let mut bytes = Vec::new();
        other.read(range, &mut bytes);
        self.write(range.start, &bytes);
    }

    /// Returns true if both share the storage of chunk `index`.
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
