//! Transfers from a source to a sink, with many bytes in flight.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use files::{OpenFile, ask};

use super::problem::Problem;
use super::session::{Session, receive};

/// Bytes of one request: many blocks.
pub(super) const PIECE: u64 = 256 << 10;

/// An event of a transfer.
pub(super) enum Arrival {
    /// Data from this offset on, or the error.
    Read(u64, Result<Vec<Bytes>, Problem>),
    /// Number of bytes that the sink has stored from this offset on, or the error.
    Written(u64, Result<u64, Problem>),
}

/// The source of a transfer.
pub(super) trait Source {
    /// Requests this many bytes from `offset` on, which arrive together.
    fn ask(&self, offset: u64, count: u64, to: &Sender<Arrival>);
}

/// The destination of a transfer.
pub(super) trait Sink {
    /// Takes data, in the order of offsets, and reports when they are stored.
    fn put(&mut self, offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>);

    /// Notes that all bytes before this offset are stored. An error is reported like one of a write.
    fn reached(&mut self, _place: u64, _to: &Sender<Arrival>) {}
}

/// A range of a source, to be copied to the same range of a sink.
pub(super) struct Transfer<'t> {
    pub(super) source: &'t dyn Source,
    pub(super) sink: &'t mut dyn Sink,
    pub(super) from: u64,
    pub(super) until: u64,
    /// Returns the limit of bytes in flight; it is called repeatedly.
    pub(super) window: &'t dyn Fn() -> u64,
    /// Takes the number of further bytes that the sink has stored.
    pub(super) progress: &'t dyn Fn(u64),
}

impl Transfer<'_> {
    /// Transfers the whole range.
    pub(super) fn run(self) -> Result<(), Problem> {
        let (sender, receiver) = channel();
        let (mut asked, mut put, mut reached) = (self.from, self.from, self.from);
        let mut done = self.from;
        let (mut early, mut written) = (BTreeMap::new(), BTreeMap::new());
        while done < self.until {
            while asked < self.until && asked - done < (self.window)().max(PIECE) {
                let count = PIECE.min(self.until - asked);
                self.source.ask(asked, count, &sender);
                asked += count;
            }
            match receive(&receiver)? {
                Arrival::Read(offset, data) => {
                    early.insert(offset, data?);
                    while let Some(data) = early.remove(&put) {
                        let count: usize = data.iter().map(Bytes::len).sum();
                        if (count as u64) < PIECE.min(self.until - put) {
                            return Err(Problem::Broken(
                                "it became shorter while it was read: try again".into(),
                            ));
                        }
                        self.sink.put(put, data, &sender);
                        put += count as u64;
                    }
                }
                Arrival::Written(offset, count) => {
                    let count = count?;
                    done += count;
                    (self.progress)(count);
                    written.insert(offset, count);
                    while let Some(count) = written.remove(&reached) {
                        reached += count;
                    }
                    self.sink.reached(reached, &sender);
                }
            }
        }
        Ok(())
    }
}

/// An open file at a server.
pub(super) struct RemoteFile {
    pub(super) session: Arc<Session>,
    pub(super) open: OpenFile,
    pub(super) shown: Arc<str>,
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        self.session.close(self.open);
    }
}

impl Source for RemoteFile {
    fn ask(&self, offset: u64, count: u64, to: &Sender<Arrival>) {
        let read = ask::Read {
            open: self.open,
            offset,
            count: count as u32,
        };
        let (to, shown) = (to.clone(), Arc::clone(&self.shown));
        let done = move |result: Result<_, _>| {
            let data = result.map_err(|error| Problem::of_call(&shown, &error));
            // Nobody receives it once the transfer has failed.
            let _ = to.send(Arrival::Read(offset, data));
        };
        self.session
            .connection
            .submit(&self.session.caller, read, done);
    }
}

impl Sink for RemoteFile {
    fn put(&mut self, mut offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>) {
        for data in data {
            let count = data.len() as u64;
            let write = ask::Write {
                open: self.open,
                offset,
                data,
            };
            let (to, shown) = (to.clone(), Arc::clone(&self.shown));
            let done = move |result: Result<(), _>| {
                let result = result.map_err(|error| Problem::of_call(&shown, &error));
                let _ = to.send(Arrival::Written(offset, result.map(|()| count)));
            };
            offset += count;
            self.session
                .connection
                .submit(&self.session.caller, write, done);
        }
    }
}

/// A file of this host.
pub(super) struct LocalFile {
    pub(super) file: File,
    pub(super) shown: Arc<str>,
}

impl Source for LocalFile {
    fn ask(&self, offset: u64, count: u64, to: &Sender<Arrival>) {
        let mut data = vec![0; count as usize];
        let read = read_at(&self.file, &mut data, offset);
        let result = read.map_err(|error| Problem::at(&self.shown, error));
        let result = result.map(|read| {
            data.truncate(read);
            vec![data.into()]
        });
        // The receiver belongs to the caller.
        let _ = to.send(Arrival::Read(offset, result));
    }
}

/// Fills `data` from `offset` on, up to the end of the file; returns the number of bytes.
fn read_at(file: &File, data: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < data.len() {
        match file.read_at(&mut data[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Sink for LocalFile {
    fn put(&mut self, mut offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>) {
        for data in data {
            let count = data.len() as u64;
            let result = self.file.write_all_at(&data, offset);
            let result = result.map_err(|error| Problem::at(&self.shown, error));
            let _ = to.send(Arrival::Written(offset, result.map(|()| count)));
            offset += count;
        }
    }
}
