//! What is said behind the path of an address.

use std::fmt;

use super::error::{Fault, UrlError};
use super::percent;

/// Every option, for errors.
pub(super) const KNOWN: &str = "export, mountport, nfsport, proto, rsize and wsize";

/// Through what the server is to be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proto {
    /// Whatever works.
    #[default]
    Auto,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl fmt::Display for Proto {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Auto => "auto",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}

/// What is said behind the path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UrlOptions {
    /// `export`: which part of the path is the export.
    pub export: Option<Vec<u8>>,
    /// `mountport`: where the server gives handles of exports.
    pub mount_port: Option<u16>,
    /// `nfsport`: where it serves files; the port behind the host says the same.
    pub nfs_port: Option<u16>,
    /// `proto`: through what it is to be reached.
    pub proto: Option<Proto>,
    /// `rsize`: the largest READ, in bytes.
    pub read_size: Option<u32>,
    /// `wsize`: the largest WRITE, in bytes.
    pub write_size: Option<u32>,
}

impl UrlOptions {
    /// Reads what stands behind `?`.
    pub(super) fn parse(text: &[u8]) -> Result<Self, UrlError> {
        let mut options = Self::default();
        let mut at = 0;
        for option in text.split(|&byte| byte == b'&') {
            if !option.is_empty() {
                options.take(option).map_err(|error| error.behind(at))?;
            }
            at += option.len() + 1;
        }
        Ok(options)
    }

    fn take(&mut self, option: &[u8]) -> Result<(), UrlError> {
        let Some(end) = option.iter().position(|&byte| byte == b'=') else {
            return Err(UrlError::new(0, Fault::Option));
        };
        let (name, value_at) = (&option[..end], end + 1);
        let value = percent::decode(&option[value_at..]).map_err(|error| error.behind(value_at))?;
        let result = match name {
            b"export" => set(&mut self.export, "export", export(&value)),
            b"mountport" => set(&mut self.mount_port, "mountport", port(&value)),
            b"nfsport" => set(&mut self.nfs_port, "nfsport", port(&value)),
            b"proto" => set(&mut self.proto, "proto", proto(&value)),
            b"rsize" => set(&mut self.read_size, "rsize", size(&value)),
            b"wsize" => set(&mut self.write_size, "wsize", size(&value)),
            name => {
                let name = name.escape_ascii().to_string();
                return Err(UrlError::new(0, Fault::Unknown(name)));
            }
        };
        result.map_err(|fault| match fault {
            Fault::Twice(_) => UrlError::new(0, fault),
            fault => UrlError::new(value_at, fault),
        })
    }
}

/// Sets an option that is not set yet.
fn set<T>(
    option: &mut Option<T>,
    name: &'static str,
    value: Result<T, Fault>,
) -> Result<(), Fault> {
    if option.is_some() {
        return Err(Fault::Twice(name));
    }
    *option = Some(value?);
    Ok(())
}

fn number(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A port.
pub(super) fn port(text: &[u8]) -> Result<u16, Fault> {
    number(text)
        .and_then(|port| u16::try_from(port).ok())
        .filter(|&port| port != 0)
        .ok_or(Fault::Port)
}

fn size(text: &[u8]) -> Result<u32, Fault> {
    number(text)
        .filter(|size| (1_024..=32_768).contains(size))
        .ok_or(Fault::Size)
}

fn proto(text: &[u8]) -> Result<Proto, Fault> {
    match text {
        b"auto" => Ok(Proto::Auto),
        b"udp" => Ok(Proto::Udp),
        b"tcp" => Ok(Proto::Tcp),
        _ => Err(Fault::Proto),
    }
}

fn export(text: &[u8]) -> Result<Vec<u8>, Fault> {
    if text.first() == Some(&b'/') {
        Ok(text.to_vec())
    } else {
        Err(Fault::Export)
    }
}

impl fmt::Display for UrlOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = '?';
        let mut name = |formatter: &mut fmt::Formatter<'_>, name: &str| {
            let result = write!(formatter, "{separator}{name}=");
            separator = '&';
            result
        };
        if let Some(export) = &self.export {
            name(formatter, "export")?;
            percent::write(export, formatter)?;
        }
        let ports = [("mountport", self.mount_port), ("nfsport", self.nfs_port)];
        for (option, port) in ports {
            if let Some(port) = port {
                name(formatter, option)?;
                write!(formatter, "{port}")?;
            }
        }
        if let Some(proto) = self.proto {
            name(formatter, "proto")?;
            write!(formatter, "{proto}")?;
        }
        for (option, size) in [("rsize", self.read_size), ("wsize", self.write_size)] {
            if let Some(size) = size {
                name(formatter, option)?;
                write!(formatter, "{size}")?;
            }
        }
        Ok(())
    }
}
