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

/// Says what is wrong with bytes of which so many are allowed.
type Check = fn(&[u8], usize) -> Result<(), BadName>;

/// Bytes that a limit and a check let pass.
fn read_checked<'a>(
    what: &'static str,
    reader: &mut Reader<'a>,
    (limit, check): (usize, Check),
) -> Result<&'a [u8], Malformed> {
    let at = reader.at();
    let bytes = reader.opaque(what, limit)?;
    check(bytes, limit).map_err(|fault| Malformed::Name { what, at, fault })?;
    Ok(bytes)
}

/// The name of an entry of a directory: not empty, without `/` and zero bytes, neither `.` nor `..`.
/// Its encoding is anything else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// The name `bytes`, at most [`NAME_MAX`] of them.
    ///
    /// # Errors
    /// [`BadName`] says why it is none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BadName> {
        check_name(bytes, NAME_MAX)?;
        Ok(Self(bytes))
    }

    /// The name's bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Value<'a> for Name<'a> {
    fn read(
        what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        read_checked(what, reader, (limits.name, check_name)).map(Self)
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.opaque(self.0);
    }
}

/// A path: not empty, and without zero bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path<'a>(&'a [u8]);

impl<'a> Path<'a> {
    /// The path `bytes`, at most [`PATH_MAX`] of them.
    ///
    /// # Errors
    /// [`BadName`] says why it is none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BadName> {
        check_path(bytes, PATH_MAX)?;
        Ok(Self(bytes))
    }

    /// The path's bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Value<'a> for Path<'a> {
    fn read(
        what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        read_checked(what, reader, (limits.path, check_path)).map(Self)
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.opaque(self.0);
    }
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

impl<'a> Value<'a> for ListedName<'a> {
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

/// The name of a host or of a group of hosts, for people to read. It is shown with everything escaped
/// that is no printable character of ASCII.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName<'a>(pub &'a [u8]);

impl<'a> Value<'a> for HostName<'a> {
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

/// Shows bytes with everything escaped that is no printable character of ASCII.
macro_rules! shown_escaped {
    ($($name:ident)*) => {$(
        impl fmt::Display for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.escape_ascii())
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"{}\"", self.0.escape_ascii())
            }
        }
    )*};
}

shown_escaped!(Name Path ListedName HostName);
