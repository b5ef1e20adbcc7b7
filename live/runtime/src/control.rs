//! Control sockets: Unix stream sockets on which a process answers queries about itself.
//!
//! A query is one line, the reply one line of JSON; then the process closes the connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use edges::wait::{Interest, Waiter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};
use serde::de::DeserializeOwned;

use crate::reloader::Reloader;
use crate::socket_file::SocketFile;

/// The queries that a daemon supports.
const STATUS: &str = "status";
const RELOAD: &str = "reload";
const STOP: &str = "stop";
/// Length of the longest query, in bytes.
pub(crate) const LONGEST_QUESTION: usize = 64;
/// Largest number of clients at the same time; a further one displaces the oldest.
const CLIENTS: usize = 8;
/// Length of the longest reply, in bytes. The status of 4,000 peers has 16 MB.
const LONGEST_ANSWER: u64 = 64 << 20;
/// Time that a daemon's reply may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that a reload may take: the system is changed for it, by programs.
const RELOAD_PATIENCE: Duration = Duration::from_mins(1);
/// Time that the end of a daemon may take.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// A connected client.
struct Client {
    stream: UnixStream,
    question: Vec<u8>,
    /// The reply; `None` before the query is complete.
    answer: Option<Vec<u8>>,
    /// Bytes of the reply that were sent.
    sent: usize,
    /// Number of the reload whose result is the reply.
    reload: Option<u64>,
    token: u64,
}

/// The daemon's end. Only the owner may read and write the socket, and it is removed when this is dropped.
pub struct Control {
    socket: SocketFile,
    clients: Vec<Client>,
    next_token: u64,
    /// True if a client has requested the end of the daemon.
    stops: bool,
}

impl Control {
    /// Listens at `path`, and replaces a socket that a dead process left.
    ///
    /// # Errors
    /// An error names the path; `AddrInUse` if a living process answers there.
    pub fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self {
            socket: SocketFile::bind(path, 0o600, "control")?,
            clients: Vec::new(),
            next_token: 0,
            stops: false,
        })
    }

    /// Accepts waiting clients, with tokens from `first_token` on.
    pub(crate) fn accept(&mut self, waiter: &Waiter, first_token: u64) -> io::Result<()> {
        while let Some(stream) = self.socket.accept() {
            if self.clients.len() == CLIENTS {
                self.clients.remove(0);
            }
            let token = first_token + self.next_token;
            self.next_token += 1;
            waiter.add(&stream, token, Interest::Readable)?;
            self.clients.push(Client {
                stream,
                question: Vec::new(),
                answer: None,
                sent: 0,
                reload: None,
                token,
            });
        }
        Ok(())
    }

    /// Returns true if a client has requested the end of the daemon.
    pub(crate) fn stops(&self) -> bool {
        self.stops
    }

    /// Replies to the clients that wait for a reload up to this number.
    pub(crate) fn reloaded(&mut self, number: u64, waiter: &Waiter, result: Result<&str, &str>) {
        let reply = match result {
            Ok(report) => serde_json::json!({ "reloaded": report }),
            Err(error) => serde_json::json!({ "error": error }),
        };
        let waits = |client: &&mut Client| client.reload.is_some_and(|wanted| wanted <= number);
        let mut tokens = Vec::new();
        for client in self.clients.iter_mut().filter(waits) {
            client.reload = None;
            client.reply(reply.to_string());
            tokens.push(client.token);
        }
        for token in tokens {
            self.serve(token, waiter, String::new, None);
        }
    }

    /// Continues with the client that has this token; `status` returns the reply to a query for it, and `reloader` gets
    /// requests to reload.
    pub(crate) fn serve(
        &mut self,
        token: u64,
        waiter: &Waiter,
        status: impl FnOnce() -> String,
        reloader: Option<&mut Reloader>,
    ) {
        let Some(index) = self.clients.iter().position(|client| client.token == token) else {
            return;
        };
        let client = &mut self.clients[index];
        let goes_on = client.advance(status, reloader);
        // Not before it has its reply.
        self.stops |= client.answer.is_some() && client.question.trim_ascii() == STOP.as_bytes();
        let waits_for_room = client.answer.is_some()
            && waiter
                .modify(&client.stream, token, Interest::ReadableOrWritable)
                .is_ok();
        match goes_on {
            Ok(true) if client.answer.is_none() || waits_for_room => {}
            // Done or gone: closing the descriptor removes it from the waiter.
            _ => drop(self.clients.remove(index)),
        }
    }
}

impl Client {
    /// Reads or writes what is possible now; returns false if nothing is left to do.
    fn advance(
        &mut self,
        status: impl FnOnce() -> String,
        reloader: Option<&mut Reloader>,
    ) -> io::Result<bool> {
        if self.reload.is_some() {
            // It has nothing more to say, so it is gone.
            return Ok(false);
        }
        if self.answer.is_none() {
            let mut bytes = [0; LONGEST_QUESTION];
            let count = match self.stream.read(&mut bytes) {
                Ok(count) => count,
                Err(error) => return still_there(&error).then_some(true).ok_or(error),
            };
            self.question.extend_from_slice(&bytes[..count]);
            let ended = self.question.contains(&b'\n') || count == 0;
            if !ended && self.question.len() < LONGEST_QUESTION {
                return Ok(true);
            }
            match self.question.trim_ascii() {
                known if known == STATUS.as_bytes() => self.reply(status()),
                known if known == RELOAD.as_bytes() => {
                    self.reload = reloader.map(Reloader::ask);
                    if self.reload.is_some() {
                        return Ok(true);
                    }
                    self.reply(r#"{"error":"this daemon has no configuration to reload"}"#.into());
                }
                known if known == STOP.as_bytes() => self.reply(r#"{"stopping":true}"#.into()),
                _ => self
                    .reply(r#"{"error":"unknown question; known: reload, status, stop"}"#.into()),
            }
        }
        let answer = self.answer.get_or_insert_default();
        while self.sent < answer.len() {
            match self.stream.write(&answer[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => return still_there(&error).then_some(true).ok_or(error),
            }
        }
        Ok(false)
    }
}

impl Client {
    fn reply(&mut self, line: String) {
        self.answer = Some((line + "\n").into_bytes());
    }
}

fn still_there(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Queries the daemon with the control socket at `path` for its status: a [`Status`](crate::Status), or any JSON reply
/// as a [`serde_json::Value`].
///
/// # Errors
/// `NotFound` or `ConnectionRefused` if no process is there, `WouldBlock` if it does not reply, `UnexpectedEof` if it
/// ended without a reply, `InvalidData` if the reply is not an `S`: another version's reply may lack a field.
pub fn ask_status<S: DeserializeOwned>(path: &Path) -> io::Result<S> {
    ask(path, STATUS, Some(PATIENCE))
}

/// Queries as [`ask_status`] does; returns the reply as it came, without its line end, for a process that passes it on.
///
/// # Errors
/// Those of [`ask_status`], except that any text is accepted.
pub fn ask_status_text(path: &Path) -> io::Result<String> {
    ask_line(path, STATUS, Some(PATIENCE))
}

/// Has the daemon with the control socket at `path` reload its configuration; returns what has changed, or the daemon's
/// error, after which nothing has.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_reload(path: &Path) -> io::Result<Result<String, String>> {
    let mut reply: serde_json::Value = ask(path, RELOAD, Some(RELOAD_PATIENCE))?;
    let mut text = |field: &str| match reply[field].take() {
        serde_json::Value::String(text) => Some(text),
        _ => None,
    };
    match (text("reloaded"), text("error")) {
        (Some(report), _) => Ok(Ok(report)),
        (None, Some(error)) => Ok(Err(error)),
        (None, None) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Has the daemon with the control socket at `path` end, and waits until it has taken back its changes to the system.
///
/// # Errors
/// Those of [`ask_status`]; `TimedOut` if it does not end.
pub fn ask_stop(path: &Path) -> io::Result<()> {
    let process = socket_peercred(UnixStream::connect(path)?)?.pid;
    // From here on the number cannot come to mean another process.
    let process = pidfd_open(process, PidfdFlags::empty())?;
    let _: serde_json::Value = ask(path, STOP, Some(PATIENCE))?;
    let limit = Timespec::try_from(STOP_PATIENCE).map_err(io::Error::other)?;
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    match poll(&mut ended, Some(&limit))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Queries the process with the control socket at `path`; waits for the reply for at most `patience`, or without a
/// limit. Its errors are those of [`ask_status`].
pub(crate) fn ask<A: DeserializeOwned>(
    path: &Path,
    question: &str,
    patience: Option<Duration>,
) -> io::Result<A> {
    let answer = ask_line(path, question, patience)?;
    serde_json::from_str(&answer).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn ask_line(path: &Path, question: &str, patience: Option<Duration>) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(patience)?;
    writeln!(stream, "{question}")?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    answer.truncate(answer.trim_end().len());
    Ok(answer)
}
