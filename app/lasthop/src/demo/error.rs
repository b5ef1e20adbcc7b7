//! Why the demo cannot run, or did not come to its end.

use std::io;
use std::path::PathBuf;

use edges::namespace::{NamespaceError, UserNamespaceError};
use thiserror::Error;

use crate::failure::Failure;
use crate::links::LinkChoiceError;

/// Why there is no result.
#[derive(Debug, Error)]
pub(crate) enum DemoError {
    /// There is no such link.
    #[error(transparent)]
    Link(#[from] LinkChoiceError),
    /// Neither root nor a user namespace.
    #[error("the demo builds network namespaces: {0}")]
    Unprivileged(#[from] UserNamespaceError),
    /// A host, a link between hosts or a process of the demo cannot be built, or does not do its part.
    #[error("{0}{remedy}", remedy = tun_remedy(.0))]
    Rig(#[from] rig::Failure),
    /// A host cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel lacks a congestion control.
    #[error(
        "this kernel has no congestion control '{name}'; it has {known} (`modprobe tcp_{name}` may load it)"
    )]
    NoSender {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The report would have no place.
    #[error("cannot write the report to {}: {source}; choose another folder by --report", folder.display())]
    Report {
        /// Where it was to go.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A process of ours did not do its part.
    #[error("{0}")]
    Child(String),
    /// A file, a socket or a process is refused.
    #[error("cannot {operation}: {source}")]
    Failed {
        /// What was tried.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Ctrl-C, or the terminal is gone.
    #[error("interrupted; every namespace, process and file of the demo is gone")]
    Interrupted,
}

/// Whoever may make namespaces may still be kept from `/dev/net/tun`.
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
    /// For `map_err`.
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
