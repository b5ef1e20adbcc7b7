//! The replay window: the packet numbers received so far.

use planted::Bug;

/// Number of bits in the ring.
const RING_BITS: u64 = 8192;
const WORDS: usize = (RING_BITS / u64::BITS as u64) as usize;
/// Size of the window below the newest number: the ring less the word that is being filled (RFC 6479 §2).
pub(crate) const WINDOW: u64 = RING_BITS - u64::BITS as u64;

/// A sliding window over packet numbers, as a ring of words that is cleared a word at a time (RFC 6479).
///
/// A number is checked before its datagram is opened and committed only after its tag is verified, so that a forger
/// can neither use up a number nor move the window.
pub(crate) struct ReplayWindow {
    words: [u64; WORDS],
    /// One more than the newest number; 0 while there is none.
    end: u64,
}

impl ReplayWindow {
    pub(crate) const fn new() -> Self {
        Self {
            words: [0; WORDS],
            end: 0,
        }
    }

    /// Returns the number that would continue the sequence.
    pub(crate) const fn expected(&self) -> u64 {
        self.end
    }

    /// Returns true if `number` has neither been received nor left the window.
    pub(crate) fn is_fresh(&self, number: u64) -> bool {
        if number >= self.end {
            return true;
        }
        let behind = self.end - 1 - number;
        behind < WINDOW && self.words[word(number)] & bit(number) == 0
    }

    /// Notes `number`, which is fresh and below `u64::MAX`. Returns true if it is the newest of all.
    pub(crate) fn commit(&mut self, number: u64) -> bool {
        let newest = number >= self.end;
        if newest {
            let filled = self.end.saturating_sub(1) / u64::from(u64::BITS);
            let wanted = number / u64::from(u64::BITS);
            for step in 1..=(wanted - filled).min(WORDS as u64) {
                self.words[(filled + step) as usize % WORDS] = 0;
            }
            self.end = number + 1;
        }
        if newest || !planted::is(Bug::LateIsNotNoted) {
            self.words[word(number)] |= bit(number);
        }
        newest
    }
}

fn word(number: u64) -> usize {
    (number / u64::from(u64::BITS)) as usize % WORDS
}

fn bit(number: u64) -> u64 {
    1 << (number % u64::from(u64::BITS))
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
