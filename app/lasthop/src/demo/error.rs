//! Errors of the demo.

use std::io;
use std::path::PathBuf;

use edges::namespace::{NamespaceError, UserNamespaceError};
use thiserror::Error;

use crate::failure::Failure;
use crate::links::LinkChoiceError;

/// Reason why there is no result.
#[derive(Debug, Error)]
pub(crate) enum DemoError {
    /// The link does not exist.
    #[error(transparent)]
    Link(#[from] LinkChoiceError),
    /// The process has neither root rights nor a user namespace.
    #[error("the demo builds network namespaces: {0}")]
    Unprivileged(#[from] UserNamespaceError),
    /// A host, a link between hosts or a process of the demo cannot be created, or does not work.
    #[error("{0}{remedy}", remedy = tun_remedy(.0))]
    Rig(#[from] rig::Failure),
    /// A namespace of a host cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel lacks a congestion control.
    #[error(
        "this kernel has no congestion control '{name}'; it has {known} (`modprobe tcp_{name}` may load it)"
    )]
    NoSender {
        /// Name of the requested one.
        name: String,
        /// Names of the available ones.
        known: String,
    },
    /// The folder of the report cannot be used.
    #[error("cannot write the report to {}: {source}; choose another folder by --report", folder.display())]
    Report {
        /// Path of the folder.
        folder: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A process of the demo failed.
    #[error("{0}")]
    Child(String),
    /// An operation on a file, a socket or a process failed.
    #[error("cannot {operation}: {source}")]
    Failed {
        /// The operation that failed, as a verb.
        operation: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// Ctrl-C, or the terminal was closed.
    #[error("interrupted; every namespace, process and file of the demo is gone")]
    Interrupted,
}

/// Returns a remedy if `/dev/net/tun` is not permitted, although namespaces are.
fn tun_remedy(failure: &rig::Failure) -> &'static str {
    match failure {
        rig::Failure::Device(_) => {
            "; the demo needs /dev/net/tun (`modprobe tun`) and, without root, the right to open it (`chmod 666 \
            /dev/net/tun`, as usual)"
        }
        _ => "",
    }
}

impl DemoError {
    /// Returns a conversion of an I/O error, for `map_err`.
    pub(crate) fn failed(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Failed { operation, source }
    }
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::Interrupted => Self::interrupted(error),
            DemoError::Child(_)
            | DemoError::Failed { .. }
            | DemoError::Rig(
                rig::Failure::Start { .. }
                | rig::Failure::Exit { .. }
                | rig::Failure::File { .. }
                | rig::Failure::Found(_),
            ) => Self::broken(error),
            _ => Self::setting(error),
        }
    }
}
