//! What is said behind the path of an address.

use std::fmt;
use std::str::FromStr;

use super::error::{Fault, UrlError};
use super::percent;

/// Every option, for errors.
pub(super) const KNOWN: &str = "export, mountport, nfsport, proto, rsize and wsize";
/// The smallest bound of READs and WRITEs, in bytes.
const SIZE_MIN: u32 = 1_024;

/// Through what a server is reached.
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
    pub transport: Option<Transport>,
    /// `rsize`: the largest READ, in bytes.
    pub read_size: Option<u32>,
    /// `wsize`: the largest WRITE, in bytes.
    pub write_size: Option<u32>,
}

impl UrlOptions {
    /// Reads what stands behind `?`.
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

    /// Takes an option behind those of `names`.
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

    /// Sets the option `name`, in place of what was said of it before.
    ///
    /// # Errors
    /// [`Fault`] says what is wrong with the name or the value.
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

    /// What is said here, and where nothing is, what is said in `other`.
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

/// A port.
pub(super) fn port(text: &[u8]) -> Result<u16, Fault> {
    number(text)
        .and_then(|port| u16::try_from(port).ok())
        .filter(|&port| port != 0)
        .ok_or(Fault::Port)
}

/// An upper bound of blocks, which are never smaller than the smallest that is asked for.
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
