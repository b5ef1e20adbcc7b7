//! Reasons why an operation failed, as the user sees them.

use std::fmt;

use nfs::Status;
use runtime::files::{CallError, ResolveError};

use crate::failure::Failure;

/// Reason why an operation failed.
#[derive(Debug, Clone)]
pub(super) enum Problem {
    /// The user interrupted it.
    Interrupted,
    /// The command line or the environment is wrong.
    Setting(String),
    /// The problem, its place, and a remedy.
    Broken(String),
}

impl Problem {
    /// Creates an error at `place`.
    pub(super) fn at(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::Broken(format!("{place}: {what}"))
    }

    /// Creates the error of an operation on `place`.
    pub(super) fn of_call(place: impl fmt::Display, error: &CallError) -> Self {
        match error {
            CallError::Cancelled => Self::Interrupted,
            error => Self::Broken(format!("{place}: {error}{}", remedy(error))),
        }
    }

    /// Creates the error that `place` was not found.
    pub(super) fn of_way(place: impl fmt::Display, error: &ResolveError) -> Self {
        match error {
            ResolveError::Call { at, error } if !matches!(error, CallError::Cancelled) => {
                Self::Broken(format!("{place}: at `{at}`: {error}{}", remedy(error)))
            }
            ResolveError::Call { .. } => Self::Interrupted,
            error => Self::at(place, error),
        }
    }

    /// Converts it to the result of the command.
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Interrupted => Failure::interrupted("interrupted"),
            Self::Setting(message) => Failure::setting(message),
            Self::Broken(message) => Failure::broken(message),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => formatter.write_str("interrupted"),
            Self::Setting(message) | Self::Broken(message) => formatter.write_str(message),
        }
    }
}

/// Returns the remedy of an error, if there is a known one.
fn remedy(error: &CallError) -> &'static str {
    let Some(error) = error.files() else {
        return "";
    };
    if error.is_expired() {
        return "; wait longer (--soft), or for ever (without it)";
    }
    match error.status() {
        Some(Status::AccessDenied | Status::NotOwner) => {
            "; act as a user with the right (--caller UID:GID), or change the permissions at the server"
        }
        Some(Status::NoSpace) => "; make room at the server, then go on with --resume",
        Some(Status::QuotaExceeded) => "; make room within the quota, then go on with --resume",
        Some(Status::ReadOnly) => "; the server exports it for reading only",
        Some(Status::Stale | Status::BadHandle) => {
            "; somebody removed or replaced it at the server: try again"
        }
        Some(Status::NotEmpty) => "; remove its content too (-r)",
        _ => "",
    }
}
