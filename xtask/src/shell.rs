//! Running other programs from the root of the repository.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

#[cfg(test)]
mod tests;

/// Time limit of one program, so that a test that hangs fails and is named.
const LONGEST: Duration = Duration::from_mins(30);

/// Reason why a step or a command failed, as text for people.
#[derive(Debug, Error)]
pub enum Failure {
    /// The program could not be started.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The program ended with an error.
    #[error("`{command}` failed ({how})")]
    Exit {
        /// The command line.
        command: String,
        /// Exit status, or a note that the time limit was reached.
        how: String,
        /// Complete output of the program.
        output: String,
    },
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// One of our own checks found something; one line for each finding.
    #[error("{0}")]
    Found(String),
}

impl Failure {
    /// Returns the findings as one failure, or success if there are none.
    pub fn unless_empty(findings: &[String]) -> Result<(), Self> {
        if findings.is_empty() {
            return Ok(());
        }
        Err(Self::Found(findings.join("\n")))
    }
}

/// The folder in which programs run, and the handling of their output.
pub struct Shell {
    /// The root of the repository.
    pub root: PathBuf,
    /// True if the output of programs is shown while they run.
    pub verbose: bool,
}

impl Shell {
    /// Creates a shell at the root of the repository that this program was built from.
    pub fn new(verbose: bool) -> Self {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: crate_folder.parent().unwrap_or(crate_folder).into(),
            verbose,
        }
    }

    /// Creates a shell that shows nothing, for programs in another folder.
    pub fn quiet(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            verbose: false,
        }
    }

    /// Returns a cargo command with these arguments, of the toolchain that runs this program.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// Runs a program to its end and returns what it printed to both of its outputs, in order.
    pub fn run(&self, mut command: Command) -> Result<String, Failure> {
        let line = command_line(&command);
        let failed_to_start = |source| Failure::Start {
            command: line.clone(),
            source,
        };
        let (reader, writer) = io::pipe().map_err(failed_to_start)?;
        let both = writer.try_clone().map_err(failed_to_start)?;
        command.stdin(Stdio::null()).stdout(both).stderr(writer);
        let mut child = command.spawn().map_err(failed_to_start)?;
        // The command holds the other ends of the pipe, which would keep it open.
        drop(command);
        let (output, in_time) = self.collect(&lines_of(reader));
        if !in_time {
            child.kill().map_err(failed_to_start)?;
        }
        let status = child.wait().map_err(failed_to_start)?;
        if in_time && status.success() {
            return Ok(output);
        }
        let how = if in_time {
            status.to_string()
        } else {
            format!("stopped after {} minutes", LONGEST.as_secs() / 60)
        };
        Err(Failure::Exit {
            command: line,
            how,
            output,
        })
    }

    /// Collects lines until their sender is done; returns false if the time limit came first.
    fn collect(&self, lines: &Receiver<String>) -> (String, bool) {
        let deadline = Instant::now() + LONGEST;
        let mut output = String::new();
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if self.verbose {
                        println!("{line}");
                    }
                    output.push_str(&line);
                    output.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => return (output, true),
                Err(RecvTimeoutError::Timeout) => return (output, false),
            }
        }
    }
}

/// Returns the lines of a pipe, read by a thread of their own so that waiting can end.
fn lines_of(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Returns the command as a person would type it.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
