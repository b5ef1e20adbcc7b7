//! The error with which a command ends, as the user sees it.

use std::fmt;
use std::process::ExitCode;

use crate::log;

/// Exit code of a program that Ctrl-C ended, as shells expect it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The error with which a command ends: the problem, its place, and a remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// Creates an error of the configuration or the environment; exit code 2. The program itself works, so `message`
    /// contains the remedy.
    pub(crate) fn setting(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 2,
        }
    }

    /// Creates an error that occurred while the command ran; exit code 1.
    pub(crate) fn broken(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 1,
        }
    }

    /// Creates the end by the user's interruption; exit code [`INTERRUPTED`].
    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: INTERRUPTED,
        }
    }

    /// Writes the message to standard error, after all lines of the log, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        log::finish(Some(&format!("error: {self}")));
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
