use std::io;
use std::path::{Path, PathBuf};

use edges::namespace::NamespaceError;
use edges::netlink::NetlinkError;
use edges::sysctl::SysctlError;
use thiserror::Error;

/// Reason why a part of a rig cannot be built, or does not work; the text is for a person.
#[derive(Debug, Error)]
pub enum Failure {
    /// A host cannot be created or entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A link between hosts cannot be built.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A host cannot be set up.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// A TUN device cannot be opened; the error names the device and the reason.
    #[error("{0}")]
    Device(io::Error),
    /// A program cannot be started.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("`{command}` failed ({how})\n{output}")]
    Exit {
        /// The command line.
        command: String,
        /// Its exit status.
        how: String,
        /// All output of the program.
        output: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {act} {}: {source}", path.display())]
    File {
        /// The operation: `read`, `write` or another verb.
        act: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Any other fault.
    #[error("{0}")]
    Found(String),
}

impl Failure {
    /// Returns a function that makes the failure of a file, for `map_err`.
    pub fn file(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { act, path, source }
    }
}
