//! A process in the background, of which the one in the foreground tells how it began.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// What the process in the background says when all is well.
pub(super) const READY: &str = "mounted";

/// Starts this command once more, in the background, and waits until its mount works.
///
/// # Errors
/// With its exit code; it has said why.
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

/// Tells the process in the foreground that all is well, and leaves its terminal: what is logged from now on goes to
/// the file.
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
    // No file system is kept from being unmounted because this process was started there.
    rustix::process::chdir("/").map_err(failed)?;
    rustix::stdio::dup2_stdout(&file).map_err(failed)?;
    rustix::stdio::dup2_stderr(&file).map_err(failed)
}
