//! The options of a URL.

use std::fmt;
use std::str::FromStr;

use super::error::{Fault, UrlError};
use super::percent;

/// Smallest limit of READs and WRITEs, in bytes.
const SIZE_MIN: u32 = 1_024;

/// Transport to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// UDP if the server answers there, else TCP.
    #[default]
    Auto,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl fmt::Display for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Auto => "auto",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}

impl FromStr for Transport {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "auto" => Ok(Self::Auto),
            "udp" => Ok(Self::Udp),
            "tcp" => Ok(Self::Tcp),
            _ => Err(Fault::Transport),
        }
    }
}

/// Options of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UrlOptions {
    /// `export`: part of the path that is the export.
    pub export: Option<Vec<u8>>,
    /// `mountport`: port of the MOUNT service.
    pub mount_port: Option<u16>,
    /// `nfsport`: port of the NFS service; the port behind the host means the same.
    pub nfs_port: Option<u16>,
    /// `proto`: transport to the server.
    pub transport: Option<Transport>,
    /// `rsize`: maximum size of a READ, in bytes.
    pub read_size: Option<u32>,
    /// `wsize`: maximum size of a WRITE, in bytes.
    pub write_size: Option<u32>,
}

impl UrlOptions {
    /// Parses the text behind `?`.
    pub(super) fn parse(text: &[u8]) -> Result<Self, UrlError> {
        let mut options = Self::default();
        let (mut at, mut names) = (0, Vec::new());
        for option in text.split(|&byte| byte == b'&') {
            if !option.is_empty() {
                let taken = options.take(option, &mut names);
                taken.map_err(|error| error.behind(at))?;
            }
            at += option.len() + 1;
        }
        Ok(options)
    }

    /// Parses an option, which must not be among `names`.
    fn take<'o>(&mut self, option: &'o [u8], names: &mut Vec<&'o [u8]>) -> Result<(), UrlError> {
        let Some(end) = option.iter().position(|&byte| byte == b'=') else {
            return Err(UrlError::new(0, Fault::Option));
        };
        let (name, value_at) = (&option[..end], end + 1);
        let value = percent::decode(&option[value_at..]).map_err(|error| error.behind(value_at))?;
        let shown = name.escape_ascii().to_string();
        if names.contains(&name) {
            return Err(UrlError::new(0, Fault::Twice(shown)));
        }
        names.push(name);
        self.set(&shown, &value).map_err(|fault| match fault {
            Fault::Unknown(_) => UrlError::new(0, fault),
            fault => UrlError::new(value_at, fault),
        })
    }

    /// Sets the option `name`, and replaces its earlier value.
    ///
    /// # Errors
    /// [`Fault`] if the name or the value is invalid.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<(), Fault> {
        match name {
            "export" => self.export = Some(export(value)?),
            "mountport" => self.mount_port = Some(port(value)?),
            "nfsport" => self.nfs_port = Some(port(value)?),
            "proto" => self.transport = Some(transport(value)?),
            "rsize" => self.read_size = Some(size(value)?),
            "wsize" => self.write_size = Some(size(value)?),
            name => return Err(Fault::Unknown(name.into())),
        }
        Ok(())
    }

    /// Returns these options, with absent ones taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            export: self.export.or(other.export),
            mount_port: self.mount_port.or(other.mount_port),
            nfs_port: self.nfs_port.or(other.nfs_port),
            transport: self.transport.or(other.transport),
            read_size: self.read_size.or(other.read_size),
            write_size: self.write_size.or(other.write_size),
        }
    }
}

fn number(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Parses a port.
pub(super) fn port(text: &[u8]) -> Result<u16, Fault> {
    number(text)
        .and_then(|port| u16::try_from(port).ok())
        .filter(|&port| port != 0)
        .ok_or(Fault::Port)
}

/// Parses a limit of block sizes, at least the smallest allowed one.
fn size(text: &[u8]) -> Result<u32, Fault> {
    number(text)
        .filter(|size| *size >= SIZE_MIN)
        .ok_or(Fault::Size)
}

fn transport(text: &[u8]) -> Result<Transport, Fault> {
    let text = std::str::from_utf8(text).map_err(|_| Fault::Transport)?;
    text.parse()
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
        if let Some(transport) = self.transport {
            name(formatter, "proto")?;
            write!(formatter, "{transport}")?;
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
