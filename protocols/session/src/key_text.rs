//! The text format of keys: `lasthop-<kind>1-<58 symbols>`.
//!
//! The symbols are those of [`coded_text`](crate::coded_text), with a checksum.

use std::fmt;

use planted::Bug;
use zeroize::Zeroizing;

use crate::coded_text::{self, CodedTextError};

/// Bytes in a key of any kind.
pub const KEY_BYTES: usize = 32;

const SYMBOLS: usize = coded_text::symbols(KEY_BYTES);

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

    /// Returns the kind of a text by its prefix.
    pub(crate) fn of(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| text.starts_with(kind.prefix()))
    }

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
    coded_text::write(kind.prefix(), key)
}

/// Parses a key of kind `wanted`, and returns its bytes. Spaces around it are ignored.
pub(crate) fn read(
    wanted: KeyKind,
    text: &str,
) -> Result<Zeroizing<[u8; KEY_BYTES]>, ParseKeyError> {
    let text = text.trim();
    let of_text = KeyKind::of(text);
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
    let kind = wanted;
    let content = coded_text::read(kind.prefix(), symbols).map_err(|error| match error {
        CodedTextError::Symbol { position } => ParseKeyError::Symbol { kind, position },
        CodedTextError::Checksum => ParseKeyError::Checksum { kind },
    })?;
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    key.copy_from_slice(&content);
    Ok(key)
}
