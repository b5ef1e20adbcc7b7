//! Content of the simulated streams: bytes that are computed from their sequence number, eight at a time.

use units::SeqNumber;

/// Bytes that are computed at once.
const WORD: usize = 8;
/// Bytes that are compared at once.
const CHUNK: usize = 64;

/// Returns the eight bytes that begin at byte `8 × index` (a finalizer of splitmix64, Steele et al. 2014).
const fn word(index: u32) -> [u8; WORD] {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 32)).to_le_bytes()
}

/// Returns the byte at `number`.
pub(super) const fn byte(number: SeqNumber) -> u8 {
    word(number.0 / WORD as u32)[number.0 as usize % WORD]
}

/// Fills `bytes` with the content of the stream from `start` on.
pub(super) fn fill(start: SeqNumber, bytes: &mut [u8]) {
    let before = start.0.wrapping_neg() as usize % WORD;
    let (first, rest) = bytes.split_at_mut(before.min(bytes.len()));
    fill_singly(start, first);
    let start = start + before as u32;
    let (words, last) = rest.as_chunks_mut::<WORD>();
    for (index, place) in (start.0 / WORD as u32..).zip(&mut *words) {
        *place = word(index % (u32::MAX / WORD as u32 + 1));
    }
    fill_singly(start + (words.len() * WORD) as u32, last);
}

fn fill_singly(start: SeqNumber, bytes: &mut [u8]) {
    for (offset, place) in bytes.iter_mut().enumerate() {
        *place = byte(start + offset as u32);
    }
}

/// Returns true if `bytes` are the content of the stream from `start` on.
pub(super) fn matches(start: SeqNumber, bytes: &[u8]) -> bool {
    let mut expected = [0; CHUNK];
    bytes.chunks(CHUNK).enumerate().all(|(number, chunk)| {
        let expected = &mut expected[..chunk.len()];
        fill(start + (number * CHUNK) as u32, expected);
        expected == chunk
    })
}
