//! Why a walk ends before its path does.

use crate::{BadName, Malformed, Procedure, Status, mount};

/// Why a walk cannot go on. What it was looking for is shown with everything escaped that is no
/// printable character of ASCII.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The server's bytes are no answer.
    #[error("the server's answer to {procedure} makes no sense: {fault}")]
    Malformed {
        /// What was asked.
        procedure: &'static str,
        /// What is wrong.
        fault: Malformed,
    },
    /// The server gives no handle of the export.
    #[error("cannot mount `{export}`: {status}; its exports are what `showmount -e` lists")]
    NotMounted {
        /// The export.
        export: String,
        /// What the server says.
        status: mount::Status,
    },
    /// The server wants to know who we are in ways that we have not.
    #[error(
        "the server takes only the authentication flavors {0:?}, and we have only AUTH_SYS (1): \
         export with `sec=sys`"
    )]
    Flavors(Vec<u32>),
    /// The server refuses a step.
    #[error("{procedure} at `{at}`: {status}")]
    Refused {
        /// What was asked.
        procedure: Procedure,
        /// The part of the path; empty at its end.
        at: String,
        /// What the server says.
        status: Status,
    },
    /// A part of the path is no name.
    #[error("`{name}` is no name: {fault}")]
    Name {
        /// The part.
        name: String,
        /// What is wrong.
        fault: BadName,
    },
    /// The path or a symbolic link leads out of the export, where we cannot follow.
    #[error("the path leads out of the export, by `..` or a symbolic link: mount what it leads to")]
    LeavesExport,
    /// Symbolic links lead in a circle.
    #[error("more than 40 symbolic links, which may lead in a circle")]
    TooManyLinks,
}
