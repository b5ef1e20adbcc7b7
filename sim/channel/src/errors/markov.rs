//! A two-state Markov chain that steps with every bit sent.
//!
//! Haas and Warkhedi, "The Design and Performance of Mobile TCP for Wireless Networks", 2000, eq. 1–4: from good to bad
//! with probability `p_b` per bit, back with `p_g`; every bit sent in the bad state is an error, and a packet with any
//! such bit is lost. The bit error rate is `p_b ÷ (p_b + p_g)`, the mean burst `1 ÷ p_g` bits, and the error rate of
//! packets of B bits close to `B · p_g + 1` times the bit error rate.
//!
//! The lengths of runs in one state are geometric and drawn as a whole, so a packet costs a draw for each change of
//! state within it and not for each bit.

use machine::RandomStream;
use serde::Deserialize;
use units::{Bytes, Probability};

use super::Sharing;
use crate::problem::Problem;

/// Parameters of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkovConfig {
    /// Probability, from one bit to the next, of a change from good to bad.
    pub p_b: Probability,
    /// Probability, from one bit to the next, of a change from bad to good.
    pub p_g: Probability,
    /// Bits sent from one step of the chain to the next. It is 1 in the paper, except where it compares links at equal
    /// outages in time: there one bit of the slow link is as long as 11 of the fast one.
    #[serde(default = "one")]
    pub bits_per_step: u64,
    /// Own chain for each direction, or one chain that all bits drive, which needs a half-duplex medium. The difference
    /// affects the shorter packets of the two directions: a chain of acknowledgements alone stays in its bad state for
    /// many of them. The paper leaves it open.
    #[serde(default = "own")]
    pub state: Sharing,
}

const fn own() -> Sharing {
    Sharing::Own
}

const fn one() -> u64 {
    1
}

/// Largest number of bits of a step: with it, the bounds of the probabilities keep the draws within 64 bits.
const BITS_PER_STEP_MAX: u64 = 100_000;

impl MarkovConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let least = Probability::ratio(1, 1_000_000_000_000);
        // The bounds keep the draws within 64 bits and the changes within a packet few.
        if self.p_b < least || self.p_b.as_f64() > 0.01 {
            return Err(Problem::new("p_b", "must lie between 1e-12 and 0.01"));
        }
        if self.p_g < least || self.p_g.as_f64() > 0.5 {
            return Err(Problem::new("p_g", "must lie between 1e-12 and 0.5"));
        }
        if !(1..=BITS_PER_STEP_MAX).contains(&self.bits_per_step) {
            return Err(Problem::new(
                "bits_per_step",
                "must lie between 1 and 100000",
            ));
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Markov {
    good_run: RunLength,
    bad_run: RunLength,
    good: bool,
    /// Number of the next bits that are sent in this state.
    left: u64,
    bits_per_step: u64,
    stream: RandomStream,
}

impl Markov {
    /// Returns a chain that begins in the good state.
    pub(super) fn new(config: &MarkovConfig, mut stream: RandomStream) -> Self {
        let good_run = RunLength::new(config.p_b);
        Self {
            left: good_run.draw(&mut stream) * config.bits_per_step,
            bits_per_step: config.bits_per_step,
            good_run,
            bad_run: RunLength::new(config.p_g),
            good: true,
            stream,
        }
    }

    pub(super) fn loses(&mut self, size: Bytes) -> bool {
        let mut bits = size.get().saturating_mul(8);
        let lost = bits > 0 && (!self.good || self.left < bits);
        while bits >= self.left {
            bits -= self.left;
            self.good = !self.good;
            let run = if self.good {
                self.good_run
            } else {
                self.bad_run
            };
            self.left = run.draw(&mut self.stream) * self.bits_per_step;
        }
        self.left -= bits;
        lost
    }
}

/// A geometric distribution on 1, 2, …: the number of bits up to and including the last before a change.
#[derive(Debug, Clone, Copy)]
struct RunLength {
    /// Mean of the exponential distribution that gives this one when rounded up, in 2⁻¹⁶ bits.
    mean: u64,
}

impl RunLength {
    const FRACTION: u32 = 16;

    /// Returns the distribution for a change with probability `p`: P(⌈E⌉ > n) = exp(−λn) = (1 − p)ⁿ for E exponential
    /// with λ = −ln(1 − p) = Σ pᵏ ÷ k.
    fn new(p: Probability) -> Self {
        let one: u128 = 1 << 100;
        // A product with a power of two is exact, so this is the same number on every machine.
        let p = u128::from((p.as_f64() * (1u64 << 63) as f64) as u64) << 37;
        let mut power = p;
        let mut rate: u128 = 0;
        for k in 1..=100 {
            rate += power / k;
            power = ((power >> 37) * (p >> 37)) >> 26;
        }
        let mean = one / (rate >> Self::FRACTION);
        Self { mean: mean as u64 }
    }

    fn draw(self, stream: &mut RandomStream) -> u64 {
        let draw = stream.exponential(self.mean);
        draw.div_ceil(1 << Self::FRACTION).max(1)
    }
}
