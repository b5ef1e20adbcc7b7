//! The client's end of a capture.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use wire::capture::CAPTURE_HEADER_MAX;

use super::record::Record;
use super::{Beginning, QUERY, Reply, Selection};

/// Length of the longest line with which a daemon replies, in bytes.
const LINE_MOST: u64 = 4_096;
/// Time that a daemon's first line may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time after which [`Capture::receive`] returns although nothing has come.
const PAUSE: Duration = Duration::from_millis(100);
/// Number of bytes read at once.
const PORTION: usize = 256 << 10;

/// A capture of a running daemon.
pub struct Capture {
    stream: BufReader<UnixStream>,
    beginning: Beginning,
    /// Bytes received that are not passed on yet.
    waiting: Vec<u8>,
    /// Length of the longest content of a record, in bytes.
    longest: usize,
}

/// Result of waiting for records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Some came.
    Records,
    /// None came for a while.
    Nothing,
    /// The daemon sends nothing more.
    End,
}

/// Requests the end of a capture, from any thread.
pub struct Stopper(UnixStream);

impl Stopper {
    /// Requests the end; the last records are still to come.
    pub fn stop(&self) {
        // If the daemon is gone, there is nothing to be requested.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

impl Capture {
    /// Asks the daemon with the control socket at `path`; returns its error if it refuses.
    ///
    /// # Errors
    /// Those of [`ask_status`](crate::control::ask_status).
    pub fn begin(path: &Path, selection: &Selection) -> io::Result<Result<Self, String>> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let selection_text = serde_json::to_string(selection)?;
        writeln!(stream, "{QUERY}{selection_text}")?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        (&mut stream).take(LINE_MOST).read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let reply = serde_json::from_str(&line);
        let reply = reply.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        stream.get_ref().set_read_timeout(Some(PAUSE))?;
        Ok(match reply {
            Reply::Capture(beginning) => Ok(Self {
                stream,
                beginning,
                waiting: Vec::new(),
                longest: selection.snap.saturating_add(CAPTURE_HEADER_MAX),
            }),
            Reply::Error(error) => Err(error),
        })
    }

    /// Returns the daemon's first line.
    pub fn beginning(&self) -> &Beginning {
        &self.beginning
    }

    /// Returns a handle to end the capture.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn stopper(&self) -> io::Result<Stopper> {
        self.stream.get_ref().try_clone().map(Stopper)
    }

    /// Waits for a while for records, and calls `take` with all that have come.
    ///
    /// # Errors
    /// `InvalidData` if the daemon sends something else; those of reading.
    pub fn receive(&mut self, mut take: impl FnMut(&Record<'_>)) -> io::Result<Received> {
        let before = self.waiting.len();
        self.waiting.resize(before + PORTION, 0);
        let read = self.stream.read(&mut self.waiting[before..]);
        self.waiting.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return Ok(Received::End),
            Ok(_) => {}
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Received::Nothing),
                    // It ended while it still had something for us to read.
                    io::ErrorKind::ConnectionReset => Ok(Received::End),
                    _ => Err(error),
                };
            }
        }
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut taken = 0;
        while let Some((record, length)) =
            Record::parse(&self.waiting[taken..], self.longest).map_err(invalid)?
        {
            take(&record);
            taken += length;
        }
        self.waiting.drain(..taken);
        Ok(Received::Records)
    }
}
