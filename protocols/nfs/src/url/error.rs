//! The errors of URLs.

/// All options, for error messages.
const KNOWN: &str = "export, mountport, nfsport, proto, rsize and wsize";

/// Fault in a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The scheme is another one.
    #[error("an address begins with `nfs://`, as in nfs://HOST/EXPORT/PATH")]
    Scheme,
    /// There is no host.
    #[error("the host is missing, as in nfs://HOST/EXPORT/PATH")]
    NoHost,
    /// The host name is invalid.
    #[error(
        "no host can have this in its name; an address of IPv6 stands in brackets, as in nfs://[2001:db8::1]/"
    )]
    Host,
    /// The URL contains a user.
    #[error("a user has no place here: say who calls by --caller UID:GID")]
    User,
    /// A bracket is not closed, or something follows it.
    #[error("the address in brackets is not closed by `]` before `:PORT` or `/`")]
    Bracket,
    /// The text in brackets is no IPv6 address.
    #[error("in brackets stands an address of IPv6, as in [2001:db8::1] or [fe80::1%25eth0]")]
    Address,
    /// The port is invalid.
    #[error("a port is a number from 1 to 65535")]
    Port,
    /// A percent sign begins no encoded byte.
    #[error("`%` is followed by two hexadecimal digits; `%` itself is written %25")]
    Percent,
    /// The path has a zero byte.
    #[error("no path can have a zero byte (%00)")]
    Zero,
    /// An option has no value.
    #[error("an option has the form NAME=VALUE")]
    Option,
    /// An option is unknown.
    #[error("there is no option `{0}`; there are {KNOWN}; a `?` of a path is written %3F")]
    Unknown(String),
    /// An option occurs twice.
    #[error("the option `{0}` stands there twice")]
    Twice(String),
    /// The transport is unknown.
    #[error("`proto` is udp, tcp or auto")]
    Transport,
    /// A size is invalid.
    #[error("a size is a number of bytes, 1024 or more")]
    Size,
    /// The path of the export does not begin with `/`.
    #[error("an export begins with `/`")]
    Export,
}

/// Reason why a text is no URL, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} (at byte {at})")]
pub struct UrlError {
    /// Index of the byte in the text, from 0.
    pub at: usize,
    /// Fault at that byte.
    pub fault: Fault,
}

impl UrlError {
    pub(super) fn new(at: usize, fault: Fault) -> Self {
        Self { at, fault }
    }

    /// Returns the same error for a text that begins `start` bytes earlier.
    pub(super) fn behind(self, start: usize) -> Self {
        Self {
            at: self.at + start,
            ..self
        }
    }
}
