//! A background process, whose start the foreground process reports.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Message of the background process when its mount works.
pub(super) const READY: &str = "mounted";

/// Starts this command again in the background, and waits until its mount works.
///
/// # Errors
/// The exit code of the background process, which has printed the reason.
pub(super) fn start() -> Result<(), Failure> {
    let failed =
        |error| Failure::broken(format!("cannot start a process in the background: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .arg("--child")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output)
            .read_line(&mut line)
            .map_err(failed)?;
    }
    if line.trim() == READY {
        return Ok(());
    }
    let status = child.wait().map_err(failed)?;
    std::process::exit(status.code().unwrap_or(1));
}

/// Notifies the foreground process that the mount works, and leaves its terminal: the log goes to the file from now on.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn leave(log: &std::path::Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::setting(format!(
            "cannot write the log {}: {error}; choose another file (-o log=FILE)",
            log.display()
        ))
    };
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = std::fs::File::create(log).map_err(failed)?;
    let failed = |error: rustix::io::Errno| failed(error.into());
    writeln!(std::io::stdout(), "{READY}").map_err(|error| {
        Failure::broken(format!("the process that started it has ended: {error}"))
    })?;
    // A process that leads a session already has no terminal to leave.
    let _ = rustix::process::setsid();
    // The working directory must not keep any file system mounted.
    rustix::process::chdir("/").map_err(failed)?;
    rustix::stdio::dup2_stdout(&file).map_err(failed)?;
    rustix::stdio::dup2_stderr(&file).map_err(failed)
}
