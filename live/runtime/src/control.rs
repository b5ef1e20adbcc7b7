//! Control sockets: Unix stream sockets on which a process answers queries about itself.
//!
//! A query is one line, the reply one line of JSON; then the process closes the connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use edges::parcel::Parcel;
use edges::wait::{Interest, Waiter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};
use serde::de::DeserializeOwned;
use serde_json::Value;

mod query;

pub use query::ANNOUNCED_MOST;
pub(crate) use query::HAND_OVER;
pub(crate) use query::Query;
use query::{ANNOUNCE, DRAIN, DRAIN_END, MOVE, RELOAD, STATUS, STOP, SUMMARY};

use crate::capture::{Ask, QUERY};
use crate::reloader::Reloader;
use crate::socket_file::SocketFile;
use crate::succession::Successor;

/// Length of the longest query, in bytes.
pub(crate) const LONGEST_QUESTION: usize = 256;
/// Largest number of clients at the same time; a further one displaces the oldest.
const CLIENTS: usize = 8;
/// Length of the longest reply, in bytes: the status of many peers is a reply for each page of them.
const LONGEST_ANSWER: u64 = 1 << 20;
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

/// Queries the daemon with the control socket at `path` for its status: a [`Status`](crate::Status), or any JSON reply
/// as a [`serde_json::Value`]. A daemon with many peers is asked for one page of them after another.
///
/// # Errors
/// `NotFound` or `ConnectionRefused` if no process is there, `WouldBlock` if it does not reply, `UnexpectedEof` if it
/// ended without a reply, `InvalidData` if the reply is not an `S`: another version's reply may lack a field.
pub fn ask_status<S: DeserializeOwned>(path: &Path) -> io::Result<S> {
    ask_all(path, STATUS)
}

/// Queries the daemon with the control socket at `path` for the summaries of its peers, as [`ask_status`] does: a
/// [`Summary`](crate::Summary).
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_summary<S: DeserializeOwned>(path: &Path) -> io::Result<S> {
    ask_all(path, SUMMARY)
}

/// Queries the daemon as [`ask_status`] does, but for the page of peers that begins with this number only.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_status_page<S: DeserializeOwned>(path: &Path, from: usize) -> io::Result<S> {
    ask(path, &format!("{STATUS} {from}"), Some(PATIENCE))
}

/// Queries for all pages of peers, and joins them.
fn ask_all<A: DeserializeOwned>(path: &Path, question: &str) -> io::Result<A> {
    let mut all: Value = ask(path, question, Some(PATIENCE))?;
    let (mut from, mut next) = (0, take_next(&mut all));
    while let Some(number) = next {
        if number <= from {
            return Err(invalid("the pages of peers do not end"));
        }
        from = number;
        let mut page: Value = ask(path, &format!("{question} {from}"), Some(PATIENCE))?;
        next = take_next(&mut page);
        if let (Some(peers), Some(more)) = (peers_of(&mut all), peers_of(&mut page)) {
            peers.append(more);
        }
    }
    serde_json::from_value(all).map_err(invalid)
}

/// Removes the number of the peer with which the next page begins from a reply, and returns it.
fn take_next(reply: &mut Value) -> Option<usize> {
    let host = reply.get_mut("host")?.as_object_mut()?;
    usize::try_from(host.remove("more_from")?.as_u64()?).ok()
}

fn peers_of(reply: &mut Value) -> Option<&mut Vec<Value>> {
    reply.pointer_mut("/host/peers")?.as_array_mut()
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Queries as [`ask_status`] does; returns the reply as one line of JSON, for a process that passes it on.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_status_text(path: &Path) -> io::Result<String> {
    ask_all::<Value>(path, STATUS).map(|status| status.to_string())
}

/// Has the daemon with the control socket at `path` reload its configuration; returns what has changed, or the daemon's
/// error, after which nothing has.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_reload(path: &Path) -> io::Result<Result<String, String>> {
    let mut reply: Value = ask(path, RELOAD, Some(RELOAD_PATIENCE))?;
    let mut text = |field: &str| match reply[field].take() {
        Value::String(text) => Some(text),
        _ => None,
    };
    match (text("reloaded"), text("error")) {
        (Some(report), _) => Ok(Ok(report)),
        (None, Some(error)) => Ok(Err(error)),
        (None, None) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Has the mobile host with the control socket at `path` be served by the gateway of its site with this name; returns
/// the daemon's error, if it has one. The move takes a moment.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_move(path: &Path, gateway: &str) -> io::Result<Result<(), String>> {
    order(path, &format!("{MOVE} {gateway}"))
}

/// Has the mobile host with the control socket at `path` choose among the gateways of its site again; returns the
/// daemon's error, if it has one.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_comparison(path: &Path) -> io::Result<Result<(), String>> {
    order(path, MOVE)
}

/// Tells the mobile host with the control socket at `path` that its hop, or its hop to the gateway of its site with
/// this name, is about to change or to end, in this time, at most [`ANNOUNCED_MOST`]; returns the daemon's error, if it
/// has one.
///
/// # Errors
/// Those of [`ask_status`].
pub fn announce_handoff(
    path: &Path,
    within: units::Duration,
    gateway: Option<&str>,
) -> io::Result<Result<(), String>> {
    let gateway = gateway.map(|name| format!(" {name}")).unwrap_or_default();
    order(path, &format!("{ANNOUNCE} {}{gateway}", within.as_micros()))
}

/// Has the mobile hosts of the gateway with the control socket at `path` leave it for other gateways of its site, or no
/// more if `begins` is false; returns the daemon's error, if it has one. The moves take a moment.
///
/// # Errors
/// Those of [`ask_status`].
pub fn ask_drain(path: &Path, begins: bool) -> io::Result<Result<(), String>> {
    order(path, if begins { DRAIN } else { DRAIN_END })
}

fn order(path: &Path, question: &str) -> io::Result<Result<(), String>> {
    let mut reply: Value = ask(path, question, Some(PATIENCE))?;
    Ok(match reply["error"].take() {
        Value::String(error) => Err(error),
        _ => Ok(()),
    })
}

/// Returns the process with the control socket at `path`.
///
/// # Errors
/// `NotFound` or `ConnectionRefused` if there is none.
pub fn process_at(path: &Path) -> io::Result<u32> {
    let process = socket_peercred(UnixStream::connect(path)?)?.pid;
    Ok(process.as_raw_nonzero().get().unsigned_abs())
}

/// Has the daemon with the control socket at `path` end, and waits until it has taken back its changes to the system.
///
/// # Errors
/// Those of [`ask_status`]; `TimedOut` if it does not end.
pub fn ask_stop(path: &Path) -> io::Result<()> {
    let process = socket_peercred(UnixStream::connect(path)?)?.pid;
    // From here on the number cannot come to mean another process.
    let process = pidfd_open(process, PidfdFlags::empty())?;
    let _: Value = ask(path, STOP, Some(PATIENCE))?;
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
    serde_json::from_str(&answer).map_err(invalid)
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread::JoinHandle;

    use super::*;

    /// Answers queries at `path` with these lines, one after another; returns the queries.
    fn answer_with(path: &Path, lines: &'static [&str]) -> JoinHandle<Vec<String>> {
        let listener = UnixListener::bind(path).unwrap();
        std::thread::spawn(move || {
            let answer = |line: &&str| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut question = String::new();
                BufReader::new(&stream).read_line(&mut question).unwrap();
                writeln!(stream, "{line}").unwrap();
                question.trim_end().to_owned()
            };
            lines.iter().map(answer).collect()
        })
    }

    #[test]
    fn pages_of_peers_are_joined() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.sock");
        let asked = answer_with(
            &path,
            &[
                r#"{"version":"1","host":{"peers":[0,1],"more_from":2}}"#,
                r#"{"version":"1","host":{"peers":[2],"more_from":17}}"#,
                r#"{"version":"1","host":{"peers":[17]}}"#,
            ],
        );
        let all: Value = ask_summary(&path).unwrap();
        let joined = serde_json::json!({ "version": "1", "host": { "peers": [0, 1, 2, 17] } });
        assert_eq!(all, joined);
        assert_eq!(
            asked.join().unwrap(),
            ["summary", "summary 2", "summary 17"]
        );
    }

    const AGAIN: &str = r#"{"host":{"peers":[0],"more_from":2}}"#;

    #[test]
    fn pages_that_do_not_go_on_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.sock");
        let asked = answer_with(&path, &[AGAIN, AGAIN]);
        let error = ask_status::<Value>(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        asked.join().unwrap();
    }
}
