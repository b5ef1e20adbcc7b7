//! Why a command ends early, as the user sees it.

use std::fmt;
use std::process::ExitCode;

/// The exit code of a program that Ctrl-C ended, as shells expect it.
pub(crate) const INTERRUPTED: u8 = 130;

/// A command's end before its aim: what is wrong, where, and what helps.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// The configuration or the environment does not allow what was asked; exit code 2. Nothing
    /// that the program did is at fault, so `message` says the remedy.
    pub(crate) fn setting(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 2,
        }
    }

    /// Something broke while it ran; exit code 1.
    pub(crate) fn broken(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 1,
        }
    }

    /// The user broke it off; exit code [`INTERRUPTED`].
    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: INTERRUPTED,
        }
    }

    /// Writes the message to standard error, and gives the code to exit with.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("error: {self}");
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
