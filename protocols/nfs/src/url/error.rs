//! What can be wrong with an address.

use super::options::KNOWN;

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It begins otherwise.
    #[error("an address begins with `nfs://`, as in nfs://HOST/EXPORT/PATH")]
    Scheme,
    /// There is no host.
    #[error("the host is missing, as in nfs://HOST/EXPORT/PATH")]
    NoHost,
    /// A host cannot be called so.
    #[error(
        "no host can have this in its name; an address of IPv6 stands in brackets, as in nfs://[2001:db8::1]/"
    )]
    Host,
    /// There is a user.
    #[error("a user has no place here: say who calls by --caller UID:GID")]
    User,
    /// A bracket is not closed, or something follows it.
    #[error("the address in brackets is not closed by `]` before `:PORT` or `/`")]
    Bracket,
    /// What stands in brackets is no address.
    #[error("in brackets stands an address of IPv6, as in [2001:db8::1] or [fe80::1%25eth0]")]
    Address,
    /// The port is none.
    #[error("a port is a number from 1 to 65535")]
    Port,
    /// Percent signs begin an encoded byte.
    #[error("`%` is followed by two hexadecimal digits; `%` itself is written %25")]
    Percent,
    /// No path has a zero byte.
    #[error("no path can have a zero byte (%00)")]
    Zero,
    /// An option has no value.
    #[error("an option has the form NAME=VALUE")]
    Option,
    /// An option is unknown.
    #[error("there is no option `{0}`; there are {KNOWN}; a `?` of a path is written %3F")]
    Unknown(String),
    /// An option stands there twice.
    #[error("the option `{0}` stands there twice")]
    Twice(String),
    /// The transport is unknown.
    #[error("`proto` is udp, tcp or auto")]
    Transport,
    /// A size makes no sense.
    #[error("a size is a number of bytes, 1024 or more")]
    Size,
    /// An export begins with `/`.
    #[error("an export begins with `/`")]
    Export,
}

/// Why a text is no address, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} (at byte {at})")]
pub struct UrlError {
    /// Which byte of the text, counted from 0.
    pub at: usize,
    /// What is wrong there.
    pub fault: Fault,
}

impl UrlError {
    pub(super) fn new(at: usize, fault: Fault) -> Self {
        Self { at, fault }
    }

    /// The same in a text that begins so many bytes earlier.
    pub(super) fn behind(self, start: usize) -> Self {
        Self {
            at: self.at + start,
            ..self
        }
    }
}
