//! Rates of data.

use crate::parse::{Unit, text_quantity};
use crate::{Bytes, Duration};

const UNITS: &[Unit] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
];

const NANOS: u128 = 1_000_000_000;

/// A data rate, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(pub(crate) u64);

text_quantity!(BitRate, UNITS, "2 Mbit/s");

impl BitRate {
    /// Zero bits per second.
    pub const ZERO: Self = Self(0);

    /// Returns a rate of `count` bits per second.
    pub const fn from_bits_per_second(count: u64) -> Self {
        Self(count)
    }

    /// Returns a rate of `count` kilobits per second.
    pub const fn from_kilobits(count: u64) -> Self {
        Self(count.saturating_mul(1_000))
    }

    /// Returns a rate of `count` megabits per second.
    pub const fn from_megabits(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000))
    }

    /// Returns the rate at which `amount` moves in `span`; `None` if `span` is zero.
    pub fn of(amount: Bytes, span: Duration) -> Option<Self> {
        let bits = u128::from(amount.get()) * 8 * NANOS;
        let rate = bits.checked_div(u128::from(span.as_nanos()))?;
        Some(Self(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// Returns the rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the time that `amount` takes at this rate, rounded up; the longest span if the rate is zero.
    pub fn time_for(self, amount: Bytes) -> Duration {
        let bits = u128::from(amount.get()) * 8 * NANOS;
        match self.0 {
            0 if amount.get() == 0 => Duration::ZERO,
            0 => Duration::MAX,
            rate => Duration::from_nanos(
                u64::try_from(bits.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
            ),
        }
    }

    /// Returns the amount that moves in `span`, rounded down.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / (8 * NANOS);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Returns `self × numerator ÷ denominator`, saturating.
    ///
    /// # Panics
    /// If `denominator` is zero.
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let wide = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Self(u64::try_from(wide).unwrap_or(u64::MAX))
    }
}
