use std::io;
use std::path::{Path, PathBuf};

use edges::namespace::NamespaceError;
use edges::netlink::NetlinkError;
use edges::sysctl::SysctlError;
use thiserror::Error;

/// Why a part of a rig cannot be built, or does not do its work; the text is for a person.
#[derive(Debug, Error)]
pub enum Failure {
    /// A host cannot be made or entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A link between hosts cannot be built.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A host cannot be set up.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// A TUN device cannot be opened; the reason says which and why.
    #[error("{0}")]
    Device(io::Error),
    /// A program cannot be started.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("`{command}` failed ({how})\n{output}")]
    Exit {
        /// The command line.
        command: String,
        /// Its exit status.
        how: String,
        /// All that it printed.
        output: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {act} {}: {source}", path.display())]
    File {
        /// `read`, `write` or another verb.
        act: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Something else is not as it must be.
    #[error("{0}")]
    Found(String),
}

impl Failure {
    /// Makes the failure of a file, for `map_err`.
    pub fn file(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { act, path, source }
    }
}
