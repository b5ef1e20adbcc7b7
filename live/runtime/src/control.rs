//! Control sockets: Unix stream sockets on which a process answers queries about itself.
//!
//! A query is one line, the reply one line of JSON; then the process closes the connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use edges::wait::{Interest, Waiter};
use serde::de::DeserializeOwned;

use crate::socket_file::SocketFile;

/// The query that a daemon supports.
const STATUS: &str = "status";
/// Length of the longest query, in bytes.
pub(crate) const LONGEST_QUESTION: usize = 64;
/// Largest number of clients at the same time; a further one displaces the oldest.
const CLIENTS: usize = 8;
/// Length of the longest reply, in bytes.
const LONGEST_ANSWER: u64 = 1 << 20;
/// Time that a daemon's reply may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connected client.
struct Client {
    stream: UnixStream,
    question: Vec<u8>,
    /// Part of the reply still to be sent; `None` before the query is complete.
    answer: Option<Vec<u8>>,
    token: u64,
}

/// The daemon's end. Only the owner may read and write the socket, and it is removed when this is dropped.
pub struct Control {
    socket: SocketFile,
    clients: Vec<Client>,
    next_token: u64,
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
                token,
            });
        }
        Ok(())
    }

    /// Continues with the client that has this token; `status` returns the reply.
    pub(crate) fn serve(&mut self, token: u64, waiter: &Waiter, status: impl FnOnce() -> String) {
        let Some(index) = self.clients.iter().position(|client| client.token == token) else {
            return;
        };
        let client = &mut self.clients[index];
        let goes_on = client.advance(status);
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
    fn advance(&mut self, status: impl FnOnce() -> String) -> io::Result<bool> {
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
            let answer = match self.question.trim_ascii() {
                known if known == STATUS.as_bytes() => status(),
                _ => r#"{"error":"unknown question; known: status"}"#.into(),
            };
            self.answer = Some(answer.into_bytes());
            self.answer.iter_mut().for_each(|answer| answer.push(b'\n'));
        }
        let answer = self.answer.get_or_insert_default();
        while !answer.is_empty() {
            match self.stream.write(answer) {
                Ok(count) => drop(answer.drain(..count)),
                Err(error) => return still_there(&error).then_some(true).ok_or(error),
            }
        }
        Ok(false)
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

/// Queries the process with the control socket at `path`; waits for the reply for at most `patience`, or without a
/// limit. Its errors are those of [`ask_status`].
pub(crate) fn ask<A: DeserializeOwned>(
    path: &Path,
    question: &str,
    patience: Option<Duration>,
) -> io::Result<A> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(patience)?;
    writeln!(stream, "{question}")?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_str(&answer).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
