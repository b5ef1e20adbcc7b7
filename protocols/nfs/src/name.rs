//! Names and paths, of which nothing outside of the protocol sees one that could do harm.

use std::fmt;

use rpc::xdr::{Reader, Writer};

use crate::limits::{NAME_MAX, PATH_MAX};
use crate::{Limits, Malformed, Value};

/// Why nobody may use a name or a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// It names nothing.
    #[error("it is empty")]
    Empty,
    /// It is too long.
    #[error("{length} bytes, at most {limit} allowed")]
    TooLong {
        /// Its length, in bytes.
        length: usize,
        /// What is allowed, in bytes.
        limit: usize,
    },
    /// The name would lead into another directory.
    #[error("a `/` at its byte {at}, which no name may have")]
    Slash {
        /// Where.
        at: usize,
    },
    /// Systems would see only what stands before it.
    #[error("a zero byte at its byte {at}")]
    Zero {
        /// Where.
        at: usize,
    },
    /// `.` or `..`: a directory itself, or the one above.
    #[error("`.` and `..` name no entry of a directory")]
    Dots,
}

fn position(bytes: &[u8], unwanted: u8) -> Option<usize> {
    bytes.iter().position(|&byte| byte == unwanted)
}

fn check_length(bytes: &[u8], limit: usize) -> Result<(), BadName> {
    match bytes.len() {
        0 => Err(BadName::Empty),
        length if length > limit => Err(BadName::TooLong { length, limit }),
        _ => Ok(()),
    }
}

fn check_name(bytes: &[u8], limit: usize) -> Result<(), BadName> {
    check_length(bytes, limit)?;
    if let Some(at) = position(bytes, b'/') {
        return Err(BadName::Slash { at });
    }
    if let Some(at) = position(bytes, 0) {
        return Err(BadName::Zero { at });
    }
    match bytes {
        b"." | b".." => Err(BadName::Dots),
        _ => Ok(()),
    }
}

fn check_path(bytes: &[u8], limit: usize) -> Result<(), BadName> {
    check_length(bytes, limit)?;
    position(bytes, 0).map_or(Ok(()), |at| Err(BadName::Zero { at }))
}

/// Bytes that a check lets pass. Their encoding is anything else.
macro_rules! checked_bytes {
    ($($(#[$doc:meta])* $kind:ident: $check:ident, $most:ident, $limit:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $kind<'a>(&'a [u8]);

        impl<'a> $kind<'a> {
            #[doc = concat!("From `bytes`, at most [`", stringify!($most), "`] of them.")]
            ///
            /// # Errors
            /// [`BadName`] says why it is none.
            pub fn new(bytes: &'a [u8]) -> Result<Self, BadName> {
                $check(bytes, $most)?;
                Ok(Self(bytes))
            }

            /// The bytes.
            pub fn bytes(self) -> &'a [u8] {
                self.0
            }
        }

        impl<'a> Value<'a> for $kind<'a> {
            fn read(
                what: &'static str,
                reader: &mut Reader<'a>,
                limits: &Limits,
            ) -> Result<Self, Malformed> {
                let at = reader.at();
                let bytes = reader.opaque(what, limits.$limit)?;
                $check(bytes, limits.$limit)
                    .map_err(|fault| Malformed::Name { what, at, fault })?;
                Ok(Self(bytes))
            }

            fn write(&self, out: &mut Writer<'_>) {
                out.opaque(self.0);
            }
        }
    )*};
}

checked_bytes! {
    /// The name of an entry of a directory: not empty, without `/` and zero bytes, neither `.` nor `..`.
    Name: check_name, NAME_MAX, name;
    /// A path: not empty, and without zero bytes.
    Path: check_path, PATH_MAX, path;
}

/// A name as a server lists it, which may be anything: only [`check`](Self::check) shows what it is, so
/// that one bad name need not hide the rest of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedName<'a>(&'a [u8]);

/// What a server listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed<'a> {
    /// `.`: the directory itself.
    Itself,
    /// `..`: the one above.
    Parent,
    /// An entry of the directory.
    Entry(Name<'a>),
}

impl<'a> ListedName<'a> {
    /// What a server lists as `bytes`, good or bad.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// What the name is, if it has at most [`NAME_MAX`] bytes.
    ///
    /// # Errors
    /// [`BadName`] says why nobody may see it.
    pub fn check(self) -> Result<Listed<'a>, BadName> {
        match self.0 {
            b"." => Ok(Listed::Itself),
            b".." => Ok(Listed::Parent),
            bytes => Name::new(bytes).map(Listed::Entry),
        }
    }
}

/// The name of a host or of a group of hosts, for people to read. It is shown with everything escaped
/// that is no printable character of ASCII.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName<'a>(pub &'a [u8]);

/// Reads and writes bytes of which only so many are allowed as a name may have.
macro_rules! any_bytes {
    ($($kind:ident)*) => {$(
        impl<'a> Value<'a> for $kind<'a> {
            fn read(
                what: &'static str,
                reader: &mut Reader<'a>,
                limits: &Limits,
            ) -> Result<Self, Malformed> {
                Ok(Self(reader.opaque(what, limits.name)?))
            }

            fn write(&self, out: &mut Writer<'_>) {
                out.opaque(self.0);
            }
        }
    )*};
}

any_bytes!(ListedName HostName);

/// Shows bytes with everything escaped that is no printable character of ASCII.
macro_rules! shown_escaped {
    ($($kind:ident)*) => {$(
        impl fmt::Display for $kind<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.escape_ascii())
            }
        }

        impl fmt::Debug for $kind<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"{}\"", self.0.escape_ascii())
            }
        }
    )*};
}

shown_escaped!(Name Path ListedName HostName);
