//! Buffers of packets, as small handles to pooled storage.
//!
//! A buffer has room before and behind its content, so that headers and seals are added in place.
//! Dropped buffers go back to a pool of the thread that drops them: in steady state no packet costs
//! an allocation. The pool keeps a bounded amount; what is beyond it is freed.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut, Range};

/// Sizes of storage: a small packet, a frame, two segments, bursts, the largest IP packet with room around it.
const CLASSES: [usize; 6] = [512, 2_048, 4_096, 16_384, 33_280, 66_560];
/// Limit of the unused storage that the pool keeps of each class, in bytes.
const KEPT_PER_CLASS: usize = 2 << 20;
/// Room that [`PacketBuffer::copy_of`] leaves before the content, in bytes.
pub const HEADROOM: usize = 32;

thread_local! {
    static POOL: RefCell<[Vec<Box<[u8]>>; CLASSES.len()]> =
        const { RefCell::new([const { Vec::new() }; CLASSES.len()]) };
}

/// Bytes in pooled storage, with room before and behind them.
pub struct PacketBuffer {
    storage: Box<[u8]>,
    content: Range<usize>,
}

impl PacketBuffer {
    /// Creates a buffer of `room` bytes in total, with empty content at `headroom`.
    ///
    /// # Panics
    /// If `headroom` exceeds `room`.
    pub fn with_room(room: usize, headroom: usize) -> Self {
        assert!(
            headroom <= room,
            "headroom {headroom} exceeds the room {room}"
        );
        Self {
            storage: storage(room),
            content: headroom..headroom,
        }
    }

    /// Creates a buffer with a copy of `bytes`, and [`HEADROOM`] before it.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buffer = Self::with_room(bytes.len() + HEADROOM, HEADROOM);
        buffer.extend(bytes);
        buffer
    }

    /// Returns the size of the storage of a [`copy_of`](Self::copy_of) `length` bytes, in bytes.
    pub fn capacity_of_copy(length: usize) -> usize {
        let room = length + HEADROOM;
        class_of(room).map_or(room, |class| CLASSES[class])
    }

    /// Returns the number of bytes that can still be appended.
    pub fn tailroom(&self) -> usize {
        self.storage.len() - self.content.end
    }

    /// Returns the number of bytes that can still be prepended.
    pub fn headroom(&self) -> usize {
        self.content.start
    }

    /// Appends `bytes`.
    ///
    /// # Panics
    /// If they exceed the tailroom.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.grow(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends `count` bytes of unspecified value and returns them for writing.
    ///
    /// # Panics
    /// If they exceed the tailroom.
    pub fn grow(&mut self, count: usize) -> &mut [u8] {
        assert!(
            count <= self.tailroom(),
            "{count} bytes exceed the tailroom"
        );
        let added = self.content.end..self.content.end + count;
        self.content.end = added.end;
        &mut self.storage[added]
    }

    /// Puts `count` bytes of unspecified value before the content and returns them for writing.
    ///
    /// # Panics
    /// If they exceed the headroom.
    pub fn grow_front(&mut self, count: usize) -> &mut [u8] {
        assert!(
            count <= self.headroom(),
            "{count} bytes exceed the headroom"
        );
        self.content.start -= count;
        &mut self.storage[self.content.start..self.content.start + count]
    }

    /// Shortens the content to its first `length` bytes; does nothing if it is shorter already.
    pub fn truncate(&mut self, length: usize) {
        self.content.end = self.content.end.min(self.content.start + length);
    }

    /// Takes `count` bytes off the front.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn advance(&mut self, count: usize) {
        assert!(
            count <= self.len(),
            "cannot take {count} bytes off {}",
            self.len()
        );
        self.content.start += count;
    }

    /// Returns the same content in the smallest storage that fits it with headroom. Moves the content only if that
    /// saves at least half.
    pub fn right_sized(self) -> Self {
        let wanted = class_of(self.len() + HEADROOM).map_or(usize::MAX, |class| CLASSES[class]);
        if wanted <= self.storage.len() / 2 {
            Self::copy_of(&self)
        } else {
            self
        }
    }

    /// Returns the size of this buffer's storage in bytes, which does not depend on its content.
    pub fn capacity(&self) -> usize {
        self.storage.len()
    }
}

impl Deref for PacketBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.storage[self.content.clone()]
    }
}

impl DerefMut for PacketBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.content.clone()]
    }
}

impl Clone for PacketBuffer {
    fn clone(&self) -> Self {
        Self::copy_of(self)
    }
}

impl PartialEq for PacketBuffer {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for PacketBuffer {}

impl std::fmt::Debug for PacketBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("PacketBuffer")
            .field(&&**self)
            .finish()
    }
}

impl Drop for PacketBuffer {
    fn drop(&mut self) {
        let storage = std::mem::take(&mut self.storage);
        let Some(class) = CLASSES.iter().position(|size| *size == storage.len()) else {
            return;
        };
        // While the thread ends the pool may be gone; the storage is then simply freed.
        let _ = POOL.try_with(|pool| {
            let shelf = &mut pool.borrow_mut()[class];
            if shelf.len() < KEPT_PER_CLASS / CLASSES[class] {
                shelf.push(storage);
            }
        });
    }
}

fn class_of(room: usize) -> Option<usize> {
    CLASSES.iter().position(|size| *size >= room)
}

/// Returns storage of at least `room` bytes, from the pool if its class is pooled.
fn storage(room: usize) -> Box<[u8]> {
    let Some(class) = class_of(room) else {
        return vec![0; room].into_boxed_slice();
    };
    POOL.try_with(|pool| pool.borrow_mut()[class].pop())
        .ok()
        .flatten()
        .unwrap_or_else(|| vec![0; CLASSES[class]].into_boxed_slice())
}
