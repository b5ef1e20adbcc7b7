//! The URL of a file at a server (after RFC 2224): `nfs://HOST[:PORT]/PATH[?OPTION=VALUE&...]`.

mod error;
mod options;
mod percent;

pub use error::{Fault, UrlError};
pub use options::{Transport, UrlOptions};

use std::fmt;

/// Scheme of the URL, in any case of letters.
const SCHEME: &[u8] = b"nfs://";

/// URL of a file at a server. The path is the server's own: an export, and the path below it. (RFC 2224 has paths
/// relative to the public file handle, which the usual servers no longer support.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Name or address of the server; an IPv6 address is without its brackets.
    pub host: String,
    /// Port of its NFS service, if there is one in the URL.
    pub port: Option<u16>,
    /// Path, decoded: it begins with `/` and has no zero bytes.
    pub path: Vec<u8>,
    /// Options behind the path.
    pub options: UrlOptions,
}

impl Url {
    /// Returns true if `text` has the scheme of such a URL.
    pub fn is_meant(text: &[u8]) -> bool {
        text.get(..SCHEME.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
    }

    /// Parses a URL.
    ///
    /// # Errors
    /// [`UrlError`] if it is invalid: the fault, and its byte.
    pub fn parse(text: &[u8]) -> Result<Self, UrlError> {
        if !Self::is_meant(text) {
            return Err(UrlError::new(0, Fault::Scheme));
        }
        let start = SCHEME.len();
        let end_of = |from: usize, ends: &[u8]| {
            let end = text[from..].iter().position(|byte| ends.contains(byte));
            end.map_or(text.len(), |end| from + end)
        };
        let path_at = end_of(start, b"/?");
        let options_at = end_of(path_at, b"?");
        let (host, port) = authority(&text[start..path_at]).map_err(|error| error.behind(start))?;
        let path = percent::decode(&text[path_at..options_at]).map_err(|e| e.behind(path_at))?;
        let options = match text.get(options_at + 1..) {
            Some(options) => {
                UrlOptions::parse(options).map_err(|error| error.behind(options_at + 1))?
            }
            None => UrlOptions::default(),
        };
        Ok(Self {
            host,
            port,
            path: if path.is_empty() { b"/".into() } else { path },
            options,
        })
    }

    /// Returns a URL with the same server and options, and another path, which must begin with `/`.
    pub fn with_path(&self, path: Vec<u8>) -> Self {
        Self {
            path,
            ..self.clone()
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nfs://")?;
        if self.host.contains(':') {
            write!(formatter, "[{}]", self.host.replace('%', "%25"))?;
        } else {
            formatter.write_str(&self.host)?;
        }
        if let Some(port) = self.port {
            write!(formatter, ":{port}")?;
        }
        percent::write(&self.path, formatter)?;
        self.options.fmt(formatter)
    }
}

/// Parses host and port.
fn authority(text: &[u8]) -> Result<(String, Option<u16>), UrlError> {
    if let Some(at) = text.iter().position(|&byte| byte == b'@') {
        return Err(UrlError::new(at, Fault::User));
    }
    let (host, port_at) = if let [b'[', rest @ ..] = text {
        let Some(end) = rest.iter().position(|&byte| byte == b']') else {
            return Err(UrlError::new(0, Fault::Bracket));
        };
        (six(&rest[..end]).map_err(|error| error.behind(1))?, end + 2)
    } else {
        let end = text.iter().position(|&byte| byte == b':');
        let end = end.unwrap_or(text.len());
        (name(&text[..end])?, end)
    };
    let port = match &text[port_at..] {
        [] => None,
        [b':', digits @ ..] => {
            let fault = |_: Fault| UrlError::new(port_at + 1, Fault::Port);
            Some(options::port(digits).map_err(fault)?)
        }
        _ => return Err(UrlError::new(port_at, Fault::Bracket)),
    };
    Ok((host, port))
}

/// Parses a host name, or an IPv4 address.
fn name(text: &[u8]) -> Result<String, UrlError> {
    let is_allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') || !byte.is_ascii()
    };
    if let Some(at) = text.iter().position(|&byte| !is_allowed(byte)) {
        return Err(UrlError::new(at, Fault::Host));
    }
    match std::str::from_utf8(text) {
        Ok("") => Err(UrlError::new(0, Fault::NoHost)),
        Ok(name) => Ok(name.to_owned()),
        Err(error) => Err(UrlError::new(error.valid_up_to(), Fault::Host)),
    }
}

/// Parses an IPv6 address, with its zone behind `%25` (RFC 6874) if it has one.
fn six(text: &[u8]) -> Result<String, UrlError> {
    let decoded = percent::decode(text)?;
    let invalid = || UrlError::new(0, Fault::Address);
    let decoded = String::from_utf8(decoded).map_err(|_| invalid())?;
    let (address, zone) = match decoded.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (decoded.as_str(), None),
    };
    let is_zone = |zone: &str| !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_graphic());
    let is_good = address.parse::<std::net::Ipv6Addr>().is_ok() && zone.is_none_or(is_zone);
    let has_delimiter = zone.is_some_and(|zone| zone.contains(['/', '?', '[', ']', '@', '%', ':']));
    if !is_good || has_delimiter {
        return Err(invalid());
    }
    Ok(decoded)
}
