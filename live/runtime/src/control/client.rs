//! The queries of other processes to a daemon.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::query::{ANNOUNCE, DRAIN, DRAIN_END, MOVE, RELOAD, STATUS, STOP, SUMMARY};

/// Length of the longest reply, in bytes: the status of many peers is a reply for each page of them.
const LONGEST_ANSWER: u64 = 1 << 20;
/// Time that a daemon's reply may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that a reload may take: the system is changed for it, by programs.
const RELOAD_PATIENCE: Duration = Duration::from_mins(1);
/// Time that the end of a daemon may take.
pub(crate) const STOP_PATIENCE: Duration = Duration::from_secs(30);

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
/// this name, is about to change or to end, in this time, at most [`ANNOUNCED_MOST`](super::ANNOUNCED_MOST); returns
/// the daemon's error, if it has one.
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
    let process = process_of(&UnixStream::connect(path)?)?;
    let _: Value = ask(path, STOP, Some(PATIENCE))?;
    await_end(&process)
}

/// Returns the process at the other end of a control socket. Unlike its number, that cannot come to mean another one.
pub(crate) fn process_of(stream: &UnixStream) -> io::Result<OwnedFd> {
    let number = socket_peercred(stream)?.pid;
    Ok(pidfd_open(number, PidfdFlags::empty())?)
}

/// Waits for the end of a process.
///
/// # Errors
/// `TimedOut` if it does not end.
pub(crate) fn await_end(process: &OwnedFd) -> io::Result<()> {
    let limit = Timespec::try_from(STOP_PATIENCE).map_err(io::Error::other)?;
    let mut ended = [PollFd::new(process, PollFlags::IN)];
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
