//! The record of received brief packets, to detect repetitions.

use units::RangeSet;

/// Number of brief packets remembered.
const SEEN: usize = 4_096;

/// The record of the last [`SEEN`] brief packets.
#[derive(Debug)]
pub(crate) struct SeenPackets {
    pub(crate) highest: u64,
    bits: [u64; SEEN / 64],
    any: bool,
}

impl Default for SeenPackets {
    fn default() -> Self {
        Self {
            highest: 0,
            bits: [0; SEEN / 64],
            any: false,
        }
    }
}

impl SeenPackets {
    fn bit(number: u64) -> (usize, u64) {
        let place = number as usize % SEEN;
        (place / 64, 1 << (place % 64))
    }

    /// Returns true if the packet was received, or is too old to know.
    pub(crate) fn contains(&self, number: u64) -> bool {
        let (word, mask) = Self::bit(number);
        self.any
            && number <= self.highest
            && (self.highest - number >= SEEN as u64 || self.bits[word] & mask != 0)
    }

    /// Returns the numbers of the packets that were received, or are too old to know.
    pub(crate) fn ranges(&self) -> RangeSet {
        let mut ranges = RangeSet::default();
        if self.any {
            let first = (self.highest + 1).saturating_sub(SEEN as u64);
            ranges.insert(0..first);
            for number in (first..=self.highest).filter(|number| self.contains(*number)) {
                ranges.insert(number..number + 1);
            }
        }
        ranges
    }

    pub(crate) fn insert(&mut self, number: u64) {
        if number > self.highest {
            let skipped = (number - self.highest).min(SEEN as u64);
            for passed in number - skipped + 1..=number {
                let (word, mask) = Self::bit(passed);
                self.bits[word] &= !mask;
            }
            self.highest = number;
        }
        let (word, mask) = Self::bit(number);
        self.bits[word] |= mask;
        self.any = true;
    }
}
