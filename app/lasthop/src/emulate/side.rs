//! One side of an emulated link, as the command line states it.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::str::FromStr;

use edges::namespace::{Namespace, NamespaceError};
use edges::tun::TunDevice;
use ipnet::IpNet;
use thiserror::Error;

/// Where the packets of one side come from and go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SideSpec {
    /// A TUN device that is made.
    Device {
        /// The network namespace, by its name in `/run/netns`; by default the caller's.
        namespace: Option<String>,
        /// The interface's name.
        name: String,
        /// Its addresses.
        addresses: Vec<IpNet>,
    },
    /// A TUN device that the parent process has opened, as standard input.
    StandardInput,
    /// The same as standard output.
    StandardOutput,
}

/// Why there is no such side.
#[derive(Debug, Error)]
pub(crate) enum SideError {
    /// The text cannot be read.
    #[error(
        "'{0}' is not a side of a link; write it like 'air0', 'netns:mobile,air0,10.0.0.2/24', or 'stdin'"
    )]
    Malformed(String),
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The device cannot be made.
    #[error(transparent)]
    Made(#[from] rig::Failure),
    /// An open device cannot be taken over.
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
    /// Whether the device comes from the parent process.
    pub(crate) fn is_inherited(&self) -> bool {
        !matches!(self, Self::Device { .. })
    }

    /// What its device is called here.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Device { name, .. } => name,
            Self::StandardInput => "stdin",
            Self::StandardOutput => "stdout",
        }
    }

    /// Its addresses, as far as they are stated.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let stated: &[IpNet] = match self {
            Self::Device { addresses, .. } => addresses,
            Self::StandardInput | Self::StandardOutput => &[],
        };
        stated.iter().map(IpNet::addr)
    }

    /// Makes the device, up and with its addresses, or takes over an open one.
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
