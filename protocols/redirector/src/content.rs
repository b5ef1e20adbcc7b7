//! The content of streams: a number of bytes, or the bytes themselves.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A run of bytes that can be joined and cut without copying them.
pub trait Content: Default {
    /// Returns the number of bytes.
    fn length(&self) -> u64;

    /// Appends `other`.
    fn append(&mut self, other: Self);

    /// Takes the first `count` bytes, or all if there are fewer.
    fn take_front(&mut self, count: u64) -> Self;
}

/// Bytes that are only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
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

/// Number of chunks, and their mean length in bytes: if there are more chunks than this, and shorter ones, they are
/// copied into one. Each chunk takes about a hundred bytes in addition.
const MANY: u64 = 64;
const SMALL: u64 = 256;

/// Real bytes, as a queue of shared chunks: joining and cutting only moves handles, except for chunks so small that
/// their handles would take more memory than their bytes. A single chunk, which most packets carry, takes no
/// additional memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunks {
    /// Empty only if there are no bytes at all.
    first: Bytes,
    rest: VecDeque<Bytes>,
    length: u64,
}

impl Chunks {
    /// Returns the chunks in their order; none is empty.
    pub fn iter(&self) -> impl Iterator<Item = &Bytes> {
        let first = Some(&self.first).filter(|first| !first.is_empty());
        first.into_iter().chain(&self.rest)
    }

    /// Copies all chunks into one.
    fn join(&mut self) {
        let all: Vec<u8> = self.iter().flatten().copied().collect();
        self.first = all.into();
        self.rest = VecDeque::new();
    }

    fn push(&mut self, chunk: Bytes) {
        self.length += chunk.len() as u64;
        if self.first.is_empty() {
            self.first = chunk;
        } else if !chunk.is_empty() {
            self.rest.push_back(chunk);
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
        self.length += other.length - other.first.len() as u64;
        self.push(other.first);
        self.rest.append(&mut other.rest);
        let chunks = self.rest.len() as u64;
        if chunks > MANY && chunks * SMALL > self.length {
            self.join();
        }
    }

    fn take_front(&mut self, count: u64) -> Self {
        let mut taken = Self::default();
        while !self.first.is_empty() && taken.length < count {
            let wanted = usize::try_from(count - taken.length).unwrap_or(usize::MAX);
            let part = self.first.split_to(self.first.len().min(wanted));
            self.length -= part.len() as u64;
            taken.push(part);
            if self.first.is_empty() {
                self.first = self.rest.pop_front().unwrap_or_default();
            }
        }
        taken
    }
}

/// Serializes all bytes as one value.
impl Serialize for Chunks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.iter().flatten().copied().collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Chunks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BytesVisitor)
    }
}

/// Reads bytes in either form of the formats: as one value, or one by one.
struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Chunks;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Chunks, E> {
        Ok(Bytes::copy_from_slice(bytes).into())
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Chunks, E> {
        Ok(Bytes::from(bytes).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Chunks, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        Ok(Bytes::from(bytes).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that come one by one take little more than themselves, and are the same.
    #[test]
    fn many_small_chunks_become_one() {
        let mut chunks = Chunks::default();
        let all: Vec<u8> = (0..50_000).map(|place: u32| (place % 251) as u8).collect();
        for byte in &all {
            chunks.append(Bytes::copy_from_slice(&[*byte]).into());
            let count = chunks.iter().count() as u64;
            assert!(count <= MANY + 2 + chunks.length() / SMALL, "{count}");
        }
        assert_eq!(chunks.length(), all.len() as u64);
        let front = chunks.take_front(20_000);
        let again: Vec<u8> = front
            .iter()
            .chain(chunks.iter())
            .flatten()
            .copied()
            .collect();
        assert!(again == all);
    }

    #[test]
    fn large_chunks_are_not_copied() {
        let large = Bytes::from(vec![7; 1_400]);
        let mut chunks = Chunks::default();
        for _ in 0..1_000 {
            chunks.append(large.clone().into());
        }
        assert_eq!(chunks.iter().count(), 1_000);
        assert!(chunks.iter().all(|chunk| chunk.as_ptr() == large.as_ptr()));
    }
}
