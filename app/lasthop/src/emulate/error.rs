//! The errors of an emulation.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use thiserror::Error;

use super::side::SideError;
use crate::failure::Failure;
use crate::links::LinkChoiceError;

/// Reason why packets cannot be moved any more.
#[derive(Debug, Error)]
pub(crate) enum RelayError {
    /// A device returned a packet that the link cannot carry.
    #[error(
        "an interface passed {bytes} bytes at once, more than the link's MTU of {mtu}; turn off its \
        segmentation offload"
    )]
    AboveMtu {
        /// Length of the packet.
        bytes: usize,
        /// Largest permitted length.
        mtu: usize,
    },
    /// A device failed.
    #[error("cannot read from the {side} interface: {source}")]
    Device {
        /// `left` or `right`.
        side: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The system call that waits failed.
    #[error("cannot wait for packets: {0}")]
    Wait(#[from] io::Error),
}

/// Reason why several right sides cannot share one air.
#[derive(Debug, Error)]
pub(crate) enum MembersError {
    /// A side has no address, so no packet would reach it.
    #[error(
        "right side {0} has no address, and packets reach one of several sides by address; write it like \
        'netns:mobile,air0,10.0.0.2/24'"
    )]
    NoAddress(usize),
    /// Two sides have the same address.
    #[error("right sides {0} and {1} both have the address {2}; give each an address of its own")]
    SameAddress(usize, usize, IpAddr),
    /// The side does not exist.
    #[error(
        "--errors names right side {0}, but there {are} {1}; they are counted from 1",
        are = if *.1 == 1 { "is only" } else { "are" }
    )]
    NoSuchSide(usize, usize),
    /// The errors of a side are given twice.
    #[error("--errors is given twice for right side {0}; leave one out")]
    ErrorsTwice(usize),
    /// `--errors` with a single side, which has the errors of the link.
    #[error(
        "--errors is for one of several right sides; with a single one, name the link itself with --link"
    )]
    ErrorsOfOne,
    /// The outages of several sides cannot be on one socket.
    #[error(
        "--signals reports the outages of one mobile host, but there are {0} right sides; remove it"
    )]
    Signals(usize),
    /// A feature of the link that one air for many does not have.
    #[error("the link's `{0}` is for a single right side; leave it out, or name one side only")]
    NotForMany(String),
    /// An `--errors` that cannot be parsed.
    #[error("'{0}' does not say whose errors; write it like '8=l2-b80' or '8=./link.toml'")]
    Malformed(String),
}

/// Reason why no link is emulated.
#[derive(Debug, Error)]
pub(crate) enum EmulateError {
    /// The link does not exist.
    #[error(transparent)]
    Link(#[from] LinkChoiceError),
    /// A fault of the command line is out of its limits.
    #[error("the faults of the command line, with the link {0}")]
    Faults(channel::LinkError),
    /// An interface cannot be created or opened.
    #[error(transparent)]
    Side(#[from] SideError),
    /// Packets cannot be moved any more.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// The counters cannot be written.
    #[error("cannot write the counters to {path}: {source}")]
    Report {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Right sides or options that do not fit together.
    #[error(transparent)]
    Members(#[from] MembersError),
    /// Standard output is an interface already.
    #[error("the right side is standard output; name a file for the counters with --json")]
    NoReport,
    /// Outages cannot be published.
    #[error("{0}; name another file with --signals")]
    Announce(io::Error),
    /// Signals cannot be caught.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
}

impl From<EmulateError> for Failure {
    fn from(error: EmulateError) -> Self {
        match error {
            EmulateError::Relay(_) | EmulateError::Report { .. } => Self::broken(error),
            _ => Self::setting(error),
        }
    }
}
