//! What streams carry: a count of bytes, or the bytes themselves.

use std::collections::VecDeque;

use bytes::Bytes;

/// A run of bytes that can be joined and cut without copying them.
pub trait Content: Default {
    /// How many bytes these are.
    fn length(&self) -> u64;

    /// Appends `other`.
    fn append(&mut self, other: Self);

    /// Takes the first `count` bytes, or all if there are fewer.
    fn take_front(&mut self, count: u64) -> Self;
}

/// Bytes that are only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Count(pub u64);

impl Content for Count {
    fn length(&self) -> u64 {
        self.0
    }

    fn append(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn take_front(&mut self, count: u64) -> Self {
        let taken = self.0.min(count);
        self.0 -= taken;
        Self(taken)
    }
}

/// Real bytes, as a queue of shared chunks: joining and cutting moves handles only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunks {
    queue: VecDeque<Bytes>,
    length: u64,
}

impl Chunks {
    /// The chunks in their order; none is empty.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Bytes> {
        self.queue.iter()
    }

    fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.length += chunk.len() as u64;
            self.queue.push_back(chunk);
        }
    }
}

impl From<Bytes> for Chunks {
    fn from(chunk: Bytes) -> Self {
        let mut chunks = Self::default();
        chunks.push(chunk);
        chunks
    }
}

impl Content for Chunks {
    fn length(&self) -> u64 {
        self.length
    }

    fn append(&mut self, mut other: Self) {
        self.length += other.length;
        self.queue.append(&mut other.queue);
    }

    fn take_front(&mut self, count: u64) -> Self {
        let mut taken = Self::default();
        while let Some(mut chunk) = self.queue.pop_front() {
            let wanted = usize::try_from(count - taken.length).unwrap_or(usize::MAX);
            let part = chunk.split_to(chunk.len().min(wanted));
            self.length -= part.len() as u64;
            taken.push(part);
            if !chunk.is_empty() {
                self.queue.push_front(chunk);
                break;
            }
        }
        taken
    }
}
