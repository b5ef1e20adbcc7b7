//! Random numbers from named streams of a generator whose output never changes.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use units::{Duration, Probability};

/// A stream of random numbers, determined by its seed and its name.
///
/// The generator is `ChaCha` with 8 rounds, whose output is fixed for all time. Each part of a system draws from a
/// stream with its own name, so a new part never changes the numbers that other parts draw.
#[derive(Debug, Clone)]
pub struct RandomStream {
    generator: ChaCha8Rng,
}

impl RandomStream {
    /// Returns the stream called `name` of the run with `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&fnv1a(FNV_BASIS, name.as_bytes()).to_le_bytes());
        key[16..24].copy_from_slice(&(name.len() as u64).to_le_bytes());
        Self {
            generator: ChaCha8Rng::from_seed(key),
        }
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Fills `buffer` with random bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.generator.fill_bytes(buffer);
    }

    /// Returns a number from 0 to `end − 1`, each equally likely.
    ///
    /// # Panics
    /// If `end` is zero.
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(end > 0, "there is no number below zero");
        // Rejection keeps the draw exactly uniform (Lemire 2019, with the plain test).
        let reject_below = end.wrapping_neg() % end;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(end);
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns true with this probability.
    pub fn chance(&mut self, chance: Probability) -> bool {
        chance.covers(self.next_u64())
    }

    /// Returns a span drawn uniformly from `[low, high]`, in nanoseconds.
    pub fn uniform(&mut self, low: Duration, high: Duration) -> Duration {
        let width = high.saturating_sub(low).as_nanos();
        match width.checked_add(1) {
            Some(count) => low + Duration::from_nanos(self.below(count)),
            None => Duration::from_nanos(self.next_u64()),
        }
    }

    /// Returns a draw from the exponential distribution with this mean, in the unit of the mean.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let scaled = u128::from(mean) * u128::from(self.negative_log());
        u64::try_from(scaled >> 32).unwrap_or(u64::MAX)
    }

    /// Returns −ln(u) for a uniform u in (0, 1), with 32 fractional bits.
    ///
    /// It uses integer arithmetic only (repeated squaring for log₂, then × ln 2), so that the draw is the same on every
    /// machine, which a library's `ln` is not.
    fn negative_log(&mut self) -> u64 {
        const LN_2: u128 = 2_977_044_472; // ln 2 × 2³²
        let uniform = self.next_u64() | 1;
        let shift = uniform.leading_zeros();
        let mut mantissa = uniform << shift;
        let mut fraction: u64 = 0;
        for _ in 0..32 {
            let square = u128::from(mantissa) * u128::from(mantissa);
            let carry = (square >> 127) as u64;
            mantissa = (square >> (63 + carry)) as u64;
            fraction = (fraction << 1) | carry;
        }
        // u = mantissa × 2^(−1−shift) with mantissa in [1, 2), so −log₂ u = 1 + shift − fraction.
        let negative_log2 = ((u64::from(shift) + 1) << 32) - fraction;
        ((u128::from(negative_log2) * LN_2) >> 32) as u64
    }
}

/// The FNV-1a hash of no bytes.
pub const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns the 64-bit FNV-1a hash of the bytes behind those that have this `hash`.
pub fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
