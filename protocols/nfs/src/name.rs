//! Names and paths; only checked ones leave the protocol.

use std::fmt;

use rpc::xdr::{Reader, Writer};

use crate::limits::{NAME_MAX, PATH_MAX};
use crate::malformed::{BadName, Malformed};
use crate::{Limits, Value};

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

/// Defines types of bytes that pass a check. Their encoding is not restricted.
macro_rules! checked_bytes {
    ($($(#[$doc:meta])* $kind:ident: $check:ident, $most:ident, $limit:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $kind<'a>(&'a [u8]);

        impl<'a> $kind<'a> {
            #[doc = concat!("From `bytes`, at most [`", stringify!($most), "`] of them.")]
            ///
            /// # Errors
            /// [`BadName`] if they do not pass the check.
            pub fn new(bytes: &'a [u8]) -> Result<Self, BadName> {
                $check(bytes, $most)?;
                Ok(Self(bytes))
            }

            /// Returns the bytes.
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
    /// Name of a directory entry: not empty, without `/` and zero bytes, neither `.` nor `..`.
    Name: check_name, NAME_MAX, name;
    /// Path: not empty, and without zero bytes.
    Path: check_path, PATH_MAX, path;
}

/// Name in a server's listing, which may be any bytes until [`check`](Self::check): so one bad name does not hide the
/// rest of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedName<'a>(&'a [u8]);

/// Kind of a listed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed<'a> {
    /// `.`: the directory itself.
    Itself,
    /// `..`: the parent directory.
    Parent,
    /// An entry of the directory.
    Entry(Name<'a>),
}

impl<'a> ListedName<'a> {
    /// Returns the listed name `bytes`, valid or not.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the kind of the name, if it has at most [`NAME_MAX`] bytes.
    ///
    /// # Errors
    /// [`BadName`] if the name is not allowed.
    pub fn check(self) -> Result<Listed<'a>, BadName> {
        match self.0 {
            b"." => Ok(Listed::Itself),
            b".." => Ok(Listed::Parent),
            bytes => Name::new(bytes).map(Listed::Entry),
        }
    }
}

/// Name of a host or of a group of hosts, for display. All but printable ASCII characters are escaped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName<'a>(pub &'a [u8]);

/// Implements reading and writing of any bytes, up to the length limit of names.
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

/// Implements display with all but printable ASCII characters escaped.
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
