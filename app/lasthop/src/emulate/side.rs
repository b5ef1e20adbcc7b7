//! One side of an emulated link, from the command line.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::str::FromStr;

use edges::namespace::{Namespace, NamespaceError};
use edges::tun::TunDevice;
use ipnet::IpNet;
use thiserror::Error;

/// Source and destination of the packets of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SideSpec {
    /// A TUN device to create.
    Device {
        /// Network namespace, by its name in `/run/netns`; by default the caller's.
        namespace: Option<String>,
        /// Name of the interface.
        name: String,
        /// Addresses of the interface.
        addresses: Vec<IpNet>,
    },
    /// A TUN device that the parent process has opened, as standard input.
    StandardInput,
    /// A TUN device that the parent process has opened, as standard output.
    StandardOutput,
}

/// Reason why a side cannot be opened.
#[derive(Debug, Error)]
pub(crate) enum SideError {
    /// The text cannot be parsed.
    #[error(
        "'{0}' is not a side of a link; write it like 'air0', 'netns:mobile,air0,10.0.0.2/24', or 'stdin'"
    )]
    Malformed(String),
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The device cannot be created.
    #[error(transparent)]
    Made(#[from] rig::Failure),
    /// An inherited device cannot be used.
    #[error("{0}")]
    Device(#[from] io::Error),
}

impl FromStr for SideSpec {
    type Err = SideError;

    fn from_str(text: &str) -> Result<Self, SideError> {
        match text {
            "stdin" => return Ok(Self::StandardInput),
            "stdout" => return Ok(Self::StandardOutput),
            _ => {}
        }
        let malformed = || SideError::Malformed(text.into());
        let (mut namespace, mut name, mut addresses) = (None, None, Vec::new());
        for part in text.split(',').map(str::trim) {
            if let Some(of) = part.strip_prefix("netns:") {
                namespace = Some(of.to_owned());
            } else if part.contains('/') {
                addresses.push(part.parse().map_err(|_| malformed())?);
            } else if name.is_none() && !part.is_empty() {
                name = Some(part.to_owned());
            } else {
                return Err(malformed());
            }
        }
        let name = name.ok_or_else(malformed)?;
        Ok(Self::Device {
            namespace,
            name,
            addresses,
        })
    }
}

impl SideSpec {
    /// Returns true if the device comes from the parent process.
    pub(crate) fn is_inherited(&self) -> bool {
        !matches!(self, Self::Device { .. })
    }

    /// Returns the name of its device.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Device { name, .. } => name,
            Self::StandardInput => "stdin",
            Self::StandardOutput => "stdout",
        }
    }

    /// Returns its addresses, if they are given.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let stated: &[IpNet] = match self {
            Self::Device { addresses, .. } => addresses,
            Self::StandardInput | Self::StandardOutput => &[],
        };
        stated.iter().map(IpNet::addr)
    }

    /// Creates the device, up and with its addresses, or takes an inherited one.
    pub(crate) fn open(&self, mtu: u32) -> Result<TunDevice, SideError> {
        let inherited =
            |descriptor: io::Result<OwnedFd>| Ok(TunDevice::from_descriptor(descriptor?)?);
        match self {
            Self::StandardInput => inherited(io::stdin().as_fd().try_clone_to_owned()),
            Self::StandardOutput => inherited(io::stdout().as_fd().try_clone_to_owned()),
            Self::Device {
                namespace: None,
                name,
                addresses,
            } => Ok(rig::make_device(name, addresses, mtu)?),
            Self::Device {
                namespace: Some(namespace),
                name,
                addresses,
            } => Ok(Namespace::open_named(namespace)?
                .run(|| rig::make_device(name, addresses, mtu))??),
        }
    }
}
