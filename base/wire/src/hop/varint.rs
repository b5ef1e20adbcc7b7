//! Variable-length integers (RFC 9000 §16).

/// The largest value that fits.
pub(super) const MAX: u64 = (1 << 62) - 1;

/// Writes `value` at the start of `out` and returns its length, 1 to 8 bytes.
///
/// # Panics
/// If `value` exceeds [`MAX`] or `out` is too short; the caller must prevent both.
pub(super) fn write(value: u64, out: &mut [u8]) -> usize {
    assert!(value <= MAX, "{value} does not fit a varint");
    let size = size(value);
    let tagged = value | (u64::from(size.trailing_zeros()) << (size * 8 - 2));
    out[..size].copy_from_slice(&tagged.to_be_bytes()[8 - size..]);
    size
}

/// Returns the number of bytes that `value` takes.
pub(super) fn size(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Reads a value and its length from the start of `bytes`; `None` if they end too soon.
pub(super) fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let size = 1usize << (bytes.first()? >> 6);
    let field = bytes.get(..size)?;
    let raw = field
        .iter()
        .fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
    Some((raw & (u64::MAX >> (66 - size * 8)), size))
}
