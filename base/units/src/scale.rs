//! A product, divided.

/// Returns `value × numerator ÷ denominator`, rounded down, or the largest number if it is too large.
///
/// Cores do this several times for each packet, and nearly every product has 64 bits, whose division is faster than one
/// of 128.
///
/// # Panics
/// If `denominator` is zero.
pub(crate) fn scaled(value: u64, numerator: u64, denominator: u64) -> u64 {
    if let Some(product) = value.checked_mul(numerator) {
        return product / denominator;
    }
    let wide = u128::from(value) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(wide).unwrap_or(u64::MAX)
}
