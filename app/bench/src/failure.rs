//! Errors of benches and soaks.

use thiserror::Error;
use xtask::shell;

/// Reason why a bench or soak cannot continue, as a text for people.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A program beside the hosts failed.
    #[error(transparent)]
    Shell(#[from] shell::Failure),
    /// A part of the rig failed.
    #[error(transparent)]
    Rig(#[from] rig::Failure),
    /// Other findings, one per line.
    #[error("{0}")]
    Found(String),
}

impl Failure {
    /// Returns the findings as one failure, or success if there are none.
    pub(crate) fn unless_empty(findings: &[String]) -> Result<(), Self> {
        Ok(shell::Failure::unless_empty(findings)?)
    }
}
