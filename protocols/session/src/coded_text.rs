//! Bytes as text with a prefix and a checksum: `lasthop-<kind>1-<symbols>`.
//!
//! The symbols are Crockford's base32 in lower case: no `-` inside (the prefix splits cleanly and a double click
//! selects all of it), either case is read, and the look-alikes `o`, `i`, `l` are read as 0, 1, 1. They encode the
//! bytes and then the first 4 bytes of BLAKE2s-256(prefix ‖ bytes), which distinguish a typing error from a wrong
//! value.

use blake2::{Blake2s256, Digest};
use zeroize::Zeroizing;

const CHECKSUM_BYTES: usize = 4;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Reason why symbols cannot be read. It never repeats them, as they may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodedTextError {
    /// A character is not in the alphabet.
    Symbol {
        /// Position of the symbol, from 1.
        position: usize,
    },
    /// The checksum does not match.
    Checksum,
}

/// Returns the number of symbols for this number of bytes.
pub(crate) const fn symbols(bytes: usize) -> usize {
    ((bytes + CHECKSUM_BYTES) * 8).div_ceil(5)
}

/// Returns the text of these bytes.
pub(crate) fn write(prefix: &str, content: &[u8]) -> Zeroizing<String> {
    // Allocated once: a string that grows would leave copies of a secret behind.
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + symbols(content.len())));
    text.push_str(prefix);
    let mut bits: u32 = 0;
    let mut held = 0;
    for byte in content.iter().chain(&checksum(prefix, content)) {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            text.push(symbol(bits >> held));
        }
    }
    if held > 0 {
        text.push(symbol(bits << (5 - held)));
    }
    text
}

/// Returns the bytes of the symbols that follow a prefix.
pub(crate) fn read(prefix: &str, symbols: &str) -> Result<Zeroizing<Vec<u8>>, CodedTextError> {
    let mut coded = Zeroizing::new(Vec::with_capacity(symbols.len() * 5 / 8));
    let mut bits: u32 = 0;
    let mut held = 0;
    for (place, character) in symbols.chars().enumerate() {
        let value = value(character).ok_or(CodedTextError::Symbol {
            position: place + 1,
        })?;
        bits = bits << 5 | value;
        held += 5;
        if held >= 8 {
            held -= 8;
            coded.push((bits >> held) as u8);
        }
    }
    let left_over = bits & ((1 << held) - 1);
    let length = coded.len().saturating_sub(CHECKSUM_BYTES);
    let (content, sum) = coded.split_at(length);
    if left_over != 0 || held >= 5 || sum != checksum(prefix, content) {
        return Err(CodedTextError::Checksum);
    }
    coded.truncate(length);
    Ok(coded)
}

fn checksum(prefix: &str, content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Blake2s256::new()
        .chain_update(prefix)
        .chain_update(content)
        .finalize();
    [digest[0], digest[1], digest[2], digest[3]]
}

fn symbol(bits: u32) -> char {
    char::from(ALPHABET[(bits & 31) as usize])
}

fn value(character: char) -> Option<u32> {
    let plain = match character.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        other => other,
    };
    let place = ALPHABET
        .iter()
        .position(|symbol| char::from(*symbol) == plain)?;
    Some(place as u32)
}
