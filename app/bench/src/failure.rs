//! Why a bench or a soak cannot go on.

use thiserror::Error;
use xtask::shell;

/// The reason; the text is for a person.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A program beside the hosts failed.
    #[error(transparent)]
    Shell(#[from] shell::Failure),
    /// A part of the rig failed.
    #[error(transparent)]
    Rig(#[from] rig::Failure),
    /// Something else is not as it must be; a line each.
    #[error("{0}")]
    Found(String),
}

impl Failure {
    /// Returns the findings as one failure, or success when there is none.
    pub(crate) fn unless_empty(findings: &[String]) -> Result<(), Self> {
        Ok(shell::Failure::unless_empty(findings)?)
    }
}
