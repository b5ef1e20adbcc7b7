//! The relay: a process of the user whose daemon it is, which passes the daemon's status to the web server. The server
//! has dropped its privileges, so it may not open the control socket, and the relay does nothing else for it.
//!
//! A request is one byte. The answer is one line: `+` and the status as JSON, or `-` and the reason in words.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use runtime::control::ask_status_text;
use runtime::privileges;

use crate::failure::Failure;
use crate::status::unanswered;

/// The hidden command of a relay.
const COMMAND: &str = "web-relay";
/// This program, even if its file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// A request for the status.
const ASK: [u8; 1] = *b"?";
const STATUS: &str = "+";
const REASON: &str = "-";

/// The server's handle of its relay.
#[derive(Debug)]
pub(super) struct Relay(BufReader<UnixStream>);

impl Relay {
    /// Starts the relay to the daemon with this control socket.
    pub(super) fn start(socket: &Path) -> Result<Self, Failure> {
        let start = || {
            let (own, its) = UnixStream::pair()?;
            let mut command = Command::new(PROGRAM);
            command.arg(COMMAND).arg(socket);
            // It ends with this process, which never waits for it.
            command.stdin(OwnedFd::from(its)).stdout(Stdio::null());
            command.spawn()?;
            Ok(Self(BufReader::new(own)))
        };
        let failed = |error: io::Error| format!("cannot start the process that asks: {error}");
        start().map_err(|error| Failure::setting(failed(error)))
    }

    /// Requests the status; returns it as JSON, or the reason in words why there is none.
    ///
    /// # Errors
    /// If the relay has ended.
    pub(super) fn ask(&mut self) -> io::Result<Result<String, String>> {
        self.0.get_mut().write_all(&ASK)?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        line.truncate(line.trim_end().len());
        let rest = |tag| line.strip_prefix(tag).map(str::to_owned);
        match (rest(STATUS), rest(REASON)) {
            (Some(status), _) => Ok(Ok(status)),
            (None, Some(reason)) => Ok(Err(reason)),
            (None, None) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Passes a daemon's status to a web server, which starts it
#[derive(Debug, Args)]
pub(crate) struct RelayArguments {
    /// The daemon's control socket
    socket: PathBuf,
}

/// Runs a relay, with its end of a stream as standard input, until the server ends.
pub(crate) fn run(arguments: &RelayArguments) -> Result<(), Failure> {
    privileges::keep_only_user().map_err(Failure::broken)?;
    let stream = io::stdin().as_fd().try_clone_to_owned();
    let mut stream = stream.map(UnixStream::from).map_err(Failure::broken)?;
    serve(&mut stream, &arguments.socket).map_err(Failure::broken)
}

fn serve(stream: &mut UnixStream, socket: &Path) -> io::Result<()> {
    let mut request = ASK;
    while stream.read(&mut request)? > 0 {
        let answer = ask_status_text(socket).map_err(|error| unanswered(socket, &error));
        let (tag, text) = match answer {
            Ok(status) => (STATUS, status),
            Err(failure) => (REASON, failure.to_string().replace('\n', " ")),
        };
        stream.write_all(tag.as_bytes())?;
        stream.write_all(text.as_bytes())?;
        stream.write_all(b"\n")?;
    }
    Ok(())
}
