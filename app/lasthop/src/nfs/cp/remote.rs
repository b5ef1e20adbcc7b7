//! A partly written file at a server.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use bytes::Bytes;
use files::{Entry, Found, ask};
use nfs::{FileHandle, FileType, NewAttributes, SetTime, Time};

use super::meta::Meta;
use super::options::How;
use super::part::{MARKED, Part, mode, part_name};
use crate::nfs::problem::Problem;
use crate::nfs::session::Session;
use crate::nfs::transfer::{Arrival, PIECE, RemoteFile, Sink};

/// Largest time and number of bytes between two notes of the safe part of a file.
const NOTE_EVERY: Duration = Duration::from_secs(5);
const NOTE_BYTES: u64 = 64 << 20;

/// A partly written file at a server. Blocks reach it in any order, so its length is not the progress. The number of
/// bytes on the server's disk is therefore stored from time to time in the access time, which nobody else needs yet:
/// the seconds are the version of the source, the nanoseconds count pieces.
pub(super) struct RemotePart {
    remote: RemoteFile,
    part: Entry,
    target: Entry,
    file: FileHandle,
    version: u32,
    mode: u32,
    present: u64,
    is_marked: bool,
    noted: u64,
    noted_at: Instant,
}

/// The place of a new file.
pub(super) struct RemotePlace<'p> {
    pub(super) session: &'p Arc<Session>,
    pub(super) directory: FileHandle,
    pub(super) name: &'p [u8],
    pub(super) shown: &'p Arc<str>,
}

impl RemotePart {
    /// Starts a file, or resumes it.
    pub(super) fn begin(place: &RemotePlace<'_>, meta: &Meta, how: How) -> Result<Self, Problem> {
        let problem = |error: &_| Problem::of_call(place.shown, error);
        let entry = |name: &[u8]| {
            Entry::new(place.directory, name).map_err(|fault| Problem::at(place.shown, fault))
        };
        let (part, target) = (entry(&part_name(place.name))?, entry(place.name)?);
        let session = place.session;
        let version = meta.version();
        let is_marked = meta.size >= MARKED;
        let there = if how.resume && is_marked {
            there(session, &part, meta)
        } else {
            None
        };
        let (opened, present) = if let Some((found, present)) = there {
            (session.call(ask::Open(found.file)), present)
        } else {
            let create = ask::Create {
                entry: part.clone(),
                attributes: NewAttributes {
                    mode: Some(mode(meta, how) | 0o600),
                    size: Some(0),
                    ..NewAttributes::default()
                },
                exclusive: false,
            };
            (session.call(create), 0)
        };
        let (open, found) = opened.map_err(|error| problem(&error))?;
        let remote = RemoteFile {
            session: Arc::clone(session),
            open,
            shown: Arc::clone(place.shown),
        };
        Ok(Self {
            remote,
            part,
            target,
            file: found.file,
            version,
            mode: found.attributes.mode & 0o7777,
            present,
            is_marked,
            noted: present,
            noted_at: Instant::now(),
        })
    }

    fn session(&self) -> &Session {
        &self.remote.session
    }
}

/// Returns the part that is present if it is of this version of the source, and its number of safe bytes.
fn there(session: &Session, part: &Entry, meta: &Meta) -> Option<(Found, u64)> {
    let found = session.call(ask::LookUp(part.clone())).ok()?;
    let accessed = found.attributes.times.accessed;
    let present = u64::from(accessed.nanoseconds) * PIECE;
    let is_ours = found.attributes.kind == FileType::Regular
        && accessed.seconds == meta.version()
        && present <= found.attributes.size
        && found.attributes.size <= meta.size;
    is_ours.then_some((found, present))
}

impl Sink for RemotePart {
    fn put(&mut self, offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>) {
        self.remote.put(offset, data, to);
    }

    fn reached(&mut self, place: u64, to: &Sender<Arrival>) {
        let pieces = place / PIECE;
        let is_due = place >= self.noted + NOTE_BYTES
            || (pieces * PIECE > self.noted && self.noted_at.elapsed() >= NOTE_EVERY);
        if !self.is_marked || !is_due {
            return;
        }
        self.noted = pieces * PIECE;
        self.noted_at = Instant::now();
        let note = ask::SetAttributes {
            file: self.file,
            attributes: NewAttributes {
                accessed: SetTime::To(Time {
                    seconds: self.version,
                    nanoseconds: u32::try_from(pieces).unwrap_or(0).min(999_999_999),
                }),
                ..NewAttributes::default()
            },
        };
        flush_and_note(&self.remote, note, to.clone());
    }
}

/// Waits until what was written is safe, and notes that then; without waiting here.
fn flush_and_note(remote: &RemoteFile, note: ask::SetAttributes, to: Sender<Arrival>) {
    let session = Arc::clone(&remote.session);
    let shown = Arc::clone(&remote.shown);
    let flush = ask::Flush(remote.open);
    let flushed = move |result: Result<(), _>| match result {
        Ok(()) => {
            session.connection.submit(&session.caller, note, drop);
        }
        // An error of a write is reported only once, so it must not be dropped here.
        Err(error) => {
            let problem = Problem::of_call(&shown, &error);
            let _ = to.send(Arrival::Written(0, Err(problem)));
        }
    };
    remote
        .session
        .connection
        .submit(&remote.session.caller, flush, flushed);
}

impl Part for RemotePart {
    fn present(&self) -> u64 {
        self.present
    }

    fn finish(&mut self, meta: &Meta, how: How) -> Result<(), Problem> {
        let problem = |error: &_| Problem::of_call(&self.remote.shown, error);
        let session = self.session();
        session
            .call(ask::Flush(self.remote.open))
            .map_err(|error| problem(&error))?;
        let attributes = session.call(ask::Attributes(self.file));
        let size = attributes.map_err(|error| problem(&error))?.size;
        if size != meta.size {
            let wanted = meta.size;
            let what = format!("it has {size} bytes instead of {wanted}: somebody else changed it");
            return Err(Problem::at(&self.remote.shown, what));
        }
        let wanted = mode(meta, how);
        let mut attributes = match (how.preserve, self.is_marked) {
            (true, _) => meta.times(),
            (false, true) => NewAttributes {
                accessed: SetTime::ServerTime,
                ..NewAttributes::default()
            },
            (false, false) => NewAttributes::default(),
        };
        attributes.mode = (self.mode != wanted).then_some(wanted);
        if attributes != NewAttributes::default() {
            let file = self.file;
            let set = session.call(ask::SetAttributes { file, attributes });
            set.map_err(|error| problem(&error))?;
        }
        let rename = ask::Rename {
            from: self.part.clone(),
            to: self.target.clone(),
        };
        session.call(rename).map_err(|error| problem(&error))
    }
}
