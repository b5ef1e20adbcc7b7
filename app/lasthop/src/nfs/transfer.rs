//! Bytes from a source to a sink, with much of it under way at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use files::{OpenFile, ask};

use super::problem::Problem;
use super::session::{Session, receive};

/// What is asked for at once: many blocks.
pub(super) const PIECE: u64 = 256 << 10;

/// What a transfer waits for.
pub(super) enum Arrival {
    /// What was read from this place on.
    Read(u64, Result<Vec<Bytes>, Problem>),
    /// The sink has so many bytes from this place on.
    Written(u64, Result<u64, Problem>),
}

/// Where bytes come from.
pub(super) trait Source {
    /// Has so many bytes read, which arrive together.
    fn ask(&self, offset: u64, count: u64, to: &Sender<Arrival>);
}

/// Where bytes go to.
pub(super) trait Sink {
    /// Takes bytes, those of the lowest place first, and tells when it has them.
    fn put(&mut self, offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>);

    /// Is told that it has all bytes before this place. A failure is told as one of writing.
    fn reached(&mut self, _place: u64, _to: &Sender<Arrival>) {}
}

/// The bytes of a source from one place to another, to the same places of a sink.
pub(super) struct Transfer<'t> {
    pub(super) source: &'t dyn Source,
    pub(super) sink: &'t mut dyn Sink,
    pub(super) from: u64,
    pub(super) until: u64,
    /// How many bytes may be under way, asked again and again.
    pub(super) window: &'t dyn Fn() -> u64,
    /// Is told how many bytes more the sink has.
    pub(super) progress: &'t dyn Fn(u64),
}

impl Transfer<'_> {
    /// Moves all of it.
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

/// A file at a server, open.
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
        // The receiver is our caller's.
        let _ = to.send(Arrival::Read(offset, result));
    }
}

/// Fills `data` from a place on, as far as the file reaches.
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
