//! The error with which a command ends, as the user sees it.

use std::fmt;
use std::process::ExitCode;

use crate::log;
use crate::secrets::hide;

/// Exit code of a program that Ctrl-C ended, as shells expect it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Exit code of `lasthop status` if the daemon runs and is not connected; that of `systemctl status` for a unit that
/// does not run.
pub(crate) const NOT_CONNECTED: u8 = 3;

/// The error with which a command ends: the problem, its place, and a remedy. It shows no secrets, whatever it repeats.
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
            message: hide(&message.to_string()).into_owned(),
            code: 2,
        }
    }

    /// Creates an error that occurred while the command ran; exit code 1.
    pub(crate) fn broken(message: impl fmt::Display) -> Self {
        Self {
            message: hide(&message.to_string()).into_owned(),
            code: 1,
        }
    }

    /// Creates the end of a command whose output has shown that there is no connection; exit code [`NOT_CONNECTED`].
    pub(crate) fn not_connected() -> Self {
        Self::quiet(NOT_CONNECTED)
    }

    /// Creates an exit code without a message: the output has said it.
    pub(crate) fn quiet(code: u8) -> Self {
        let message = String::new();
        Self { message, code }
    }

    /// Creates the end by the user's interruption; exit code [`INTERRUPTED`].
    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Self {
            message: hide(&message.to_string()).into_owned(),
            code: INTERRUPTED,
        }
    }

    /// Writes the message, if there is one, to standard error, after all lines of the log, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let said = (!self.message.is_empty()).then(|| format!("error: {self}"));
        log::finish(said.as_deref());
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
