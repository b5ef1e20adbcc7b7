//! Control sockets: Unix stream sockets on which a process answers queries about itself.
//!
//! A query is one line, the reply one line of JSON; then the process closes the connection.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use edges::parcel::Parcel;
use edges::wait::{Interest, Waiter};

mod client;
mod query;

pub(crate) use client::{STOP_PATIENCE, ask, await_end, process_of};
pub use client::{
    announce_handoff, ask_comparison, ask_drain, ask_move, ask_reload, ask_status, ask_status_page,
    ask_status_text, ask_stop, ask_summary, process_at,
};
pub use query::ANNOUNCED_MOST;
pub(crate) use query::{HAND_OVER, Query};
use query::{RELOAD, STOP};

use crate::capture::{Ask, QUERY};
use crate::reloader::Reloader;
use crate::socket_file::SocketFile;
use crate::succession::Successor;

/// Length of the longest query, in bytes.
pub(crate) const LONGEST_QUESTION: usize = 256;
/// Largest number of clients at the same time; a further one displaces the oldest.
const CLIENTS: usize = 8;

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
    /// The process that waits for the end of this one, to go on with its connections.
    successor: Option<Successor>,
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
            successor: None,
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

    /// Returns true if a process waits for the end of this one.
    pub(crate) fn has_successor(&self) -> bool {
        self.successor.is_some()
    }

    /// Leaves connections to the process that waits for them.
    pub(crate) fn leave(&mut self, parcel: Parcel) {
        if let Some(successor) = &mut self.successor {
            successor.parcel = Some(parcel);
        }
    }

    /// Returns the process that waits for the end of this one.
    pub(crate) fn take_successor(&mut self) -> Option<Successor> {
        self.successor.take()
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
            // It has asked for something else, so this is no query for a capture.
            let _ = self.serve(token, waiter, |_| String::new(), None);
        }
    }

    /// Continues with the client that has this token; `answer` returns the reply to a query, and `reloader` gets
    /// requests to reload. Returns a query for a capture, whose client this socket has nothing more to
    /// do with.
    pub(crate) fn serve(
        &mut self,
        token: u64,
        waiter: &Waiter,
        answer: impl FnOnce(Query) -> String,
        reloader: Option<&mut Reloader>,
    ) -> Option<Ask> {
        let index = self
            .clients
            .iter()
            .position(|client| client.token == token)?;
        let client = &mut self.clients[index];
        let goes_on = client.advance(answer, reloader);
        if client.is_successor() {
            let stream = self.clients.remove(index).stream;
            self.successor = Some(Successor {
                stream,
                parcel: None,
            });
            self.stops = true;
            return None;
        }
        if let Some(selection) = client.wanted_capture() {
            let Client { stream, token, .. } = self.clients.remove(index);
            return Some(Ask {
                stream,
                token,
                selection,
            });
        }
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
        None
    }
}

impl Client {
    /// Reads or writes what is possible now; returns false if nothing is left to do.
    fn advance(
        &mut self,
        answer: impl FnOnce(Query) -> String,
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
            let question = self.question.trim_ascii();
            if let Some(query) = Query::parse(question) {
                self.reply(answer(query));
                return self.send();
            }
            match question {
                known if known == RELOAD.as_bytes() => {
                    self.reload = reloader.map(Reloader::ask);
                    if self.reload.is_some() {
                        return Ok(true);
                    }
                    self.reply(r#"{"error":"this daemon has no configuration to reload"}"#.into());
                }
                known if known == STOP.as_bytes() => self.reply(r#"{"stopping":true}"#.into()),
                _ if self.wanted_capture().is_some() || self.is_successor() => return Ok(true),
                _ => self.reply(
                    r#"{"error":"unknown question; known: capture, move, reload, status, stop, summary"}"#
                        .into(),
                ),
            }
        }
        self.send()
    }

    /// Writes what has room of the reply; returns false if nothing is left.
    fn send(&mut self) -> io::Result<bool> {
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

    /// Returns true if it waits for the end of this process.
    fn is_successor(&self) -> bool {
        self.question.strip_suffix(b"\n") == Some(HAND_OVER.as_bytes())
    }

    /// Returns what is to be captured, if that is the query and it is complete.
    fn wanted_capture(&self) -> Option<Vec<u8>> {
        let query = self.question.strip_suffix(b"\n")?;
        query.strip_prefix(QUERY.as_bytes()).map(<[u8]>::to_vec)
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
