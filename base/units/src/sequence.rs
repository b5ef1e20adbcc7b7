//! Sequence numbers that wrap.

use std::cmp::Ordering;
use std::ops::{Add, Sub};

/// A position in a sequence that wraps at 2³² (RFC 9293 §3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Returns the distance from `other` to `self`; negative if `self` lies behind.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

/// Compares two numbers that lie less than 2³¹ apart; the result has no meaning for others.
impl PartialOrd for SeqNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.distance_from(*other).partial_cmp(&0)
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;

    fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;

    fn sub(self, count: u32) -> Self {
        Self(self.0.wrapping_sub(count))
    }
}
