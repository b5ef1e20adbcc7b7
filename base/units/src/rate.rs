//! Rates of data.

use std::num::NonZero;

use crate::parse::{Unit, text_quantity};
use crate::scale::scaled;
use crate::{Bytes, Duration};

const UNITS: &[Unit] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
];

/// Bits in a byte, for each second of a rate in nanoseconds.
const BIT_NANOS: u64 = 8 * 1_000_000_000;

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
        let span = NonZero::new(span.as_nanos())?;
        Some(Self(scaled(amount.get(), BIT_NANOS, span.get())))
    }

    /// Returns the rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the time that `amount` takes at this rate, rounded up; the longest span if the rate is zero.
    pub fn time_for(self, amount: Bytes) -> Duration {
        match (self.0, amount.get().checked_mul(BIT_NANOS)) {
            (0, Some(0)) => Duration::ZERO,
            (0, _) => Duration::MAX,
            (rate, Some(bits)) => Duration::from_nanos(bits.div_ceil(rate)),
            (rate, None) => {
                let bits = u128::from(amount.get()) * u128::from(BIT_NANOS);
                let nanos = bits.div_ceil(u128::from(rate));
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }

    /// Returns the amount that moves in `span`, rounded down.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        Bytes::new(scaled(self.0, span.as_nanos(), BIT_NANOS))
    }

    /// Returns `self × numerator ÷ denominator`, saturating.
    ///
    /// # Panics
    /// If `denominator` is zero.
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        Self(scaled(self.0, numerator, denominator))
    }
}
