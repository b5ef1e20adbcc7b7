//! The errors of the undo log.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::namespace::NamespaceError;
use crate::netlink::NetlinkError;
use crate::nft::NftError;
use crate::sysctl::SysctlError;

/// Reason why a change could not be made, recorded or reverted.
#[derive(Debug, Error)]
pub enum UndoError {
    /// The kernel refused a link, address, route or rule.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A kernel parameter could not be set.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// An nftables table could not be installed or removed.
    #[error(transparent)]
    Nft(#[from] NftError),
    /// The namespace of the changes cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The instance's name is not valid for a file.
    #[error("'{0}' cannot name an instance: use 1 to 64 letters, digits, '_' and '-'")]
    InvalidInstance(String),
    /// The folder's owner or permissions would let others decide what to undo.
    #[error(
        "{0} must belong to the user that runs this and be writable by nobody else (`chown`, \
        `chmod 700`), or choose another state folder"
    )]
    UnsafeFolder(PathBuf),
    /// Another process runs the same instance.
    #[error(
        "'{instance}' runs already here as process {pid}; stop it, or give this one another name"
    )]
    Running {
        /// Name of the instance.
        instance: String,
        /// Number of the other process.
        pid: u32,
    },
    /// The undo file could not be read or written, so no change was made.
    #[error("cannot keep the undo file {path}: {source}")]
    File {
        /// The file or its folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Some steps failed; they stay in the file for the next start.
    #[error(
        "not everything was taken back (the next start tries again; delete {path} to give up): {}",
        failures.join("; ")
    )]
    Incomplete {
        /// The undo file.
        path: PathBuf,
        /// Reason of each failed step.
        failures: Vec<String>,
    },
}

/// Returns a conversion of the errors of the system at `path`.
pub(super) fn file_error(path: &Path) -> impl Fn(io::Error) -> UndoError {
    let path = path.to_owned();
    move |source| UndoError::File {
        path: path.clone(),
        source,
    }
}
