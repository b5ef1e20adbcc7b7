//! The Internet checksum (RFC 1071) and its update in place (RFC 1624).

mod transport;

use std::ops::Add;

pub use transport::{
    PartialChecksum, complete_partial_checksum, fill_transport_checksum, verify_transport_checksum,
};
pub(crate) use transport::{fill, replace_word, store_pseudo_header};

use crate::ip::numbers::Protocol;

/// An incomplete one's complement sum of 16-bit words in network byte order.
///
/// Sums of parts add up to the sum of the whole if every part but the last has an even number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Self = Self(0);

    /// Returns the sum of `bytes`; an odd last byte counts as if a zero followed it.
    pub fn of(bytes: &[u8]) -> Self {
        // The sum of words in the machine's order is the swapped sum (RFC 1071 §2 B), and sums of
        // 32-bit words fold to it: 2³² of them fit before the accumulator could overflow.
        let words = bytes.chunks_exact(4);
        let mut rest = [0; 4];
        rest[..words.remainder().len()].copy_from_slice(words.remainder());
        let sum: u64 = words
            .map(|word| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]])))
            .sum();
        Self(u16::from_be(fold(sum + u64::from(u32::from_ne_bytes(rest)))).into())
    }

    /// Returns the sum of one 16-bit word.
    pub const fn of_word(word: u16) -> Self {
        Self(word as u64)
    }

    /// Returns the sum of the same bytes when they start at an odd offset of the whole.
    pub fn at_odd_offset(self) -> Self {
        Self(self.folded().swap_bytes().into())
    }

    /// Returns the sum, folded to 16 bits.
    pub fn folded(self) -> u16 {
        fold(self.0)
    }

    /// Returns the value for a checksum field: the complement of the sum.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }

    /// Returns the value for a checksum field like [`Sum::checksum`], but with zero written as 0xffff. UDP needs this,
    /// as zero means there that the sender computed no checksum (RFC 768); it is right for every protocol.
    pub fn nonzero_checksum(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            checksum => checksum,
        }
    }

    /// Returns true if this sum, which includes the stored checksum, shows no error.
    pub fn is_valid(self) -> bool {
        self.folded() == 0xffff
    }
}

impl Add for Sum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // Folded parts keep the accumulator far from overflow, however many are added.
        Self(u64::from(fold(self.0)) + u64::from(fold(other.0)))
    }
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the sum of the pseudo-header that TCP, UDP and `ICMPv6` checksums include: `addresses` are source and
/// destination in the order of the IP header, `length` is that of the transport with its header, in bytes. One formula
/// serves IPv4 (RFC 9293 §3.1) and IPv6 (RFC 8200 §8.1).
pub fn pseudo_header(addresses: &[u8], protocol: Protocol, length: usize) -> Sum {
    Sum::of(addresses) + Sum(protocol.0.into()) + Sum(length as u64)
}

/// Returns `checksum` updated for a covered word that changed from `old` to `new` (RFC 1624, equation 3). The result is
/// right if `checksum` was right, and wrong if it was wrong.
pub fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    (Sum::of_word(!checksum) + Sum::of_word(!old) + Sum::of_word(new)).checksum()
}
