//! The control socket of a mount: a Unix stream socket for queries and commands to its process.
//!
//! A query is one line, one of the names of [`Query`]; the reply is one line of JSON, which may come late.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use edges::wait::{Interest, WOKEN, Waiter, WaitingThread};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::control::{self, LONGEST_QUESTION};
use crate::socket_file::SocketFile;

/// Time until a query must be complete.
const PATIENCE: Duration = Duration::from_secs(1);

/// A query or command to a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// Query of its status.
    Status,
    /// Flush of all written data to stable storage.
    Sync,
    /// Flush of all written data, then unmount.
    Unmount,
    /// Unmount at once, with loss of unsafe data.
    Discard,
}

impl Query {
    const ALL: [Self; 4] = [Self::Status, Self::Sync, Self::Unmount, Self::Discard];

    /// Returns the name of the query.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Sync => "sync",
            Self::Unmount => "unmount",
            Self::Discard => "discard",
        }
    }
}

/// A client that waits for the reply.
#[derive(Debug)]
pub struct Requester(UnixStream);

impl Requester {
    /// Returns true if the client still waits for the reply.
    pub fn waits(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        rustix::net::recv(&self.0, &mut [0_u8; 1], flags) == Err(Errno::AGAIN)
    }

    /// Sends the reply.
    pub fn answer(mut self, answer: &impl Serialize) {
        // A reply consists of numbers and text, so its conversion to JSON cannot fail.
        let answer = serde_json::to_string(answer).unwrap_or_default();
        // A client that no longer waits needs no reply.
        let _ = writeln!(self.0, "{answer}");
    }
}

/// The end of the process that serves the mount. Only the owner may read and write the socket.
pub struct Control(#[expect(dead_code, reason = "it ends when it is dropped")] WaitingThread);

impl Control {
    /// Listens at `path`, and replaces a socket that a dead process left. Queries are passed to `asked`, in a thread of
    /// their own.
    ///
    /// # Errors
    /// An error names the path; `AddrInUse` if a living process answers there.
    pub fn start(
        path: &Path,
        mut asked: impl FnMut(Query, Requester) + Send + 'static,
    ) -> io::Result<Self> {
        let socket = SocketFile::bind(path, 0o600, "control")?;
        let waiter = Waiter::new()?;
        waiter.add(&socket, 0, Interest::Readable)?;
        let listen = move |mut waiter: Waiter| {
            let goes_on = |waiter: &mut Waiter| {
                let ready = waiter.wait(None);
                ready.is_ok_and(|mut ready| ready.all(|ready| ready.token != WOKEN))
            };
            while goes_on(&mut waiter) {
                while let Some(stream) = socket.accept() {
                    if let Ok(Some((question, asker))) = hear(stream) {
                        asked(question, asker);
                    }
                }
            }
        };
        WaitingThread::start("control", waiter, listen).map(Self)
    }
}

/// Reads a query; replies to an unknown one itself.
fn hear(stream: UnixStream) -> io::Result<Option<(Query, Requester)>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(LONGEST_QUESTION as u64)).read_line(&mut line)?;
    let name = line.trim();
    let known = Query::ALL.into_iter().find(|known| known.name() == name);
    let asker = Requester(stream);
    if let Some(question) = known {
        return Ok(Some((question, asker)));
    }
    let names = Query::ALL.map(Query::name).join(", ");
    let error = format!("unknown question; known: {names}");
    asker.answer(&serde_json::json!({ "error": error }));
    Ok(None)
}

/// Queries the process with the control socket at `path`; waits for the reply, an `A`, for at most `patience`, or
/// without a limit.
///
/// # Errors
/// `NotFound` or `ConnectionRefused` if no process is there, `WouldBlock` if it does not reply, `UnexpectedEof` if it
/// ended without a reply, `InvalidData` if the reply is not an `A`.
pub fn ask<A: DeserializeOwned>(
    path: &Path,
    question: Query,
    patience: Option<Duration>,
) -> io::Result<A> {
    control::ask(path, question.name(), patience)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use serde_json::Value;

    use super::*;

    #[test]
    fn questions_are_answered_also_late() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mount.sock");
        let (sender, questions) = channel();
        let control = Control::start(&path, move |question, asker| {
            sender.send((question, asker)).unwrap();
        });
        let control = control.unwrap();
        for question in Query::ALL {
            let asked = path.clone();
            let asking = thread::spawn(move || ask::<Value>(&asked, question, None).unwrap());
            let (heard, asker) = questions.recv().unwrap();
            assert_eq!(heard, question);
            assert!(asker.waits());
            asker.answer(&serde_json::json!({ "question": question.name() }));
            assert_eq!(asking.join().unwrap()["question"], question.name());
        }
        drop(control);
        let gone = ask::<Value>(&path, Query::Status, None).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn who_has_gone_does_not_wait_and_nonsense_is_said_to_be_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mount.sock");
        let (sender, questions) = channel();
        let control = Control::start(&path, move |_, asker| sender.send(asker).unwrap());
        let _control = control.unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        writeln!(stream, "nonsense").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains("known: status, sync, unmount, discard"),
            "{answer}"
        );
        let mut stream = UnixStream::connect(&path).unwrap();
        writeln!(stream, "sync").unwrap();
        let asker = questions.recv().unwrap();
        drop(stream);
        assert!(!asker.waits());
        asker.answer(&Value::Null);
    }
}
