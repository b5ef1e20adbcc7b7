//! The text format of keys: `lasthop-<kind>1-<58 symbols>`.
//!
//! The symbols are Crockford's base32 in lower case: no `-` inside (the prefix splits cleanly and a double click
//! selects the whole key), either case is read, and the look-alikes `o`, `i`, `l` are read as 0, 1, 1. They encode
//! the 32 bytes of the key and then the first 4 bytes of BLAKE2s-256(prefix ‖ key), which distinguish a typing error
//! from a wrong key.

use std::fmt;

use blake2::{Blake2s256, Digest};
use planted::Bug;
use zeroize::Zeroizing;

/// Bytes in a key of any kind.
pub const KEY_BYTES: usize = 32;

const CHECKSUM_BYTES: usize = 4;
const CODED_BYTES: usize = KEY_BYTES + CHECKSUM_BYTES;
/// Five bits each; the last symbol has two bits left over, which are zero.
const SYMBOLS: usize = (CODED_BYTES * 8).div_ceil(5);
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// The secret half of a key pair.
    Private,
    /// The public half of a key pair.
    Public,
    /// A secret shared by two hosts.
    Preshared,
}

impl KeyKind {
    const ALL: [Self; 3] = [Self::Private, Self::Public, Self::Preshared];

    /// Returns the prefix of keys of this kind.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Private => "lasthop-sk1-",
            Self::Public => "lasthop-pk1-",
            Self::Preshared => "lasthop-psk1-",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Private => "private key",
            Self::Public => "public key",
            Self::Preshared => "preshared key",
        })
    }
}

/// Reason why a text is not a key of the expected kind. It never repeats the text, which may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseKeyError {
    /// The text is a key of another kind.
    #[error("this is a {found}; a {wanted} is wanted here ({}…)", wanted.prefix())]
    WrongKind {
        /// Kind by the prefix.
        found: KeyKind,
        /// Expected kind.
        wanted: KeyKind,
    },
    /// The text has no known prefix.
    #[error("this is not a key: a {wanted} begins with {}", wanted.prefix())]
    NoPrefix {
        /// Expected kind.
        wanted: KeyKind,
    },
    /// The text is cut short or too long.
    #[error("this {kind} has {found} symbols after {} where {SYMBOLS} belong; copy all of it", kind.prefix())]
    Length {
        /// Kind by the prefix.
        kind: KeyKind,
        /// Number of characters after the prefix.
        found: usize,
    },
    /// A character is not in the alphabet.
    #[error("symbol {position} after {} is no digit and no letter of a {kind}", kind.prefix())]
    Symbol {
        /// Kind by the prefix.
        kind: KeyKind,
        /// Position of the symbol, from 1.
        position: usize,
    },
    /// The checksum does not match.
    #[error("the checksum of this {kind} is wrong: a symbol is mistyped; copy it again")]
    Checksum {
        /// Kind by the prefix.
        kind: KeyKind,
    },
}

/// Returns the text of a key.
pub(crate) fn write(kind: KeyKind, key: &[u8; KEY_BYTES]) -> Zeroizing<String> {
    let mut coded = Zeroizing::new([0; CODED_BYTES]);
    coded[..KEY_BYTES].copy_from_slice(key);
    coded[KEY_BYTES..].copy_from_slice(&checksum(kind, key));
    // Allocated once: a string that grows would leave copies of a secret behind.
    let mut text = Zeroizing::new(String::with_capacity(kind.prefix().len() + SYMBOLS));
    text.push_str(kind.prefix());
    let mut bits: u32 = 0;
    let mut held = 0;
    for byte in coded.iter() {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            text.push(symbol(bits >> held));
        }
    }
    text.push(symbol(bits << (5 - held)));
    text
}

/// Parses a key of kind `wanted`, and returns its bytes. Spaces around it are ignored.
pub(crate) fn read(
    wanted: KeyKind,
    text: &str,
) -> Result<Zeroizing<[u8; KEY_BYTES]>, ParseKeyError> {
    let text = text.trim();
    let of_text = KeyKind::ALL
        .into_iter()
        .find(|kind| text.starts_with(kind.prefix()));
    let wanted = if planted::is(Bug::AnyKindIsTaken) {
        of_text.unwrap_or(wanted)
    } else {
        wanted
    };
    let Some(symbols) = text.strip_prefix(wanted.prefix()) else {
        return Err(match of_text {
            Some(found) => ParseKeyError::WrongKind { found, wanted },
            None => ParseKeyError::NoPrefix { wanted },
        });
    };
    let found = symbols.chars().count();
    if found != SYMBOLS {
        return Err(ParseKeyError::Length {
            kind: wanted,
            found,
        });
    }
    let mut coded = Zeroizing::new([0; CODED_BYTES]);
    let mut bits: u32 = 0;
    let mut held = 0;
    let mut length = 0;
    for (place, character) in symbols.chars().enumerate() {
        let value = value(character).ok_or(ParseKeyError::Symbol {
            kind: wanted,
            position: place + 1,
        })?;
        bits = bits << 5 | value;
        held += 5;
        if held >= 8 {
            held -= 8;
            coded[length] = (bits >> held) as u8;
            length += 1;
        }
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    key.copy_from_slice(&coded[..KEY_BYTES]);
    let left_over = bits & ((1 << held) - 1);
    if left_over != 0 || coded[KEY_BYTES..] != checksum(wanted, &key) {
        return Err(ParseKeyError::Checksum { kind: wanted });
    }
    Ok(key)
}

fn checksum(kind: KeyKind, key: &[u8; KEY_BYTES]) -> [u8; CHECKSUM_BYTES] {
    let digest = Blake2s256::new()
        .chain_update(kind.prefix())
        .chain_update(key)
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
