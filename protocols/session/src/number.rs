//! Packet numbers: 64 bits, of which the low 32 are on the wire.

/// Returns the full number that is nearest to `expected` and ends in `low` (RFC 9000, appendix A.3).
///
/// `expected` is one more than the newest authenticated number, so a forger cannot shift it.
pub(crate) fn expand(expected: u64, low: u32) -> u64 {
    const SPAN: u64 = 1 << 32;
    const HALF: u64 = SPAN / 2;
    let candidate = expected & !(SPAN - 1) | u64::from(low);
    if candidate < u64::MAX - SPAN && candidate + HALF <= expected {
        candidate + SPAN
    } else if candidate >= SPAN && candidate > expected.saturating_add(HALF) {
        candidate - SPAN
    } else {
        candidate
    }
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;
