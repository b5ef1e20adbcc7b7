//! The cached state of a file or directory.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use nfs::{Attributes, AttributesBefore, FileHandle, FileType, Time, WeakCacheData, WriteVerifier};
use rpc::message::Credentials;
use units::{Duration, Instant};

use crate::content::{Extents, Ranges};
use crate::{Entry, Error, Ticket, Validity};

/// Names that are remembered of one directory, at most.
const NAMES_MAX: usize = 16_384;

/// Attributes of a file when they were last received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) attributes: Attributes,
    /// End of their validity.
    until: Instant,
    /// Length of their validity.
    span: Duration,
}

/// Calls of this client that change a file, in flight and past: attributes from a call that overlapped with one of them
/// may be older than the cached ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changes {
    under_way: u32,
    /// Number of calls made when the last of them ended.
    last: u64,
    /// Number of that last call, if no other overlapped with it.
    alone: Option<u64>,
}

/// Result of a name in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameLookup {
    /// Not cached: ask the server.
    Unknown,
    /// There is no such name.
    Nowhere,
    /// The name of this file.
    To(FileHandle),
}

/// A read that waits for its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    pub(crate) ticket: Ticket,
    pub(crate) offset: u64,
    pub(crate) end: u64,
}

impl Reader {
    /// Returns true if it needs bytes of `range`.
    pub(crate) fn wants(&self, range: &Range<u64>) -> bool {
        self.offset < range.end && self.end > range.start
    }
}

/// A request that waits until the server has written data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flusher {
    pub(crate) ticket: Ticket,
    /// Number of the first write for which it does not wait.
    pub(crate) before: u64,
    /// True if the data must be safe there.
    pub(crate) safe: bool,
    /// Number of write errors before the request.
    pub(crate) errors: u64,
}

/// Progress of a request that changes the size of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeChange {
    /// Earlier writes are sent, and no new ones are accepted.
    Draining,
    /// Its call is in flight: nothing is sent.
    Changing,
}

/// The content of one file, and the requests that wait for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    pub(crate) ranges: Ranges,
    pub(crate) extents: Extents,
    pub(crate) readers: Vec<Reader>,
    pub(crate) flushers: Vec<Flusher>,
    /// Writes that wait for others, or for room.
    pub(crate) writers: VecDeque<Ticket>,
    /// Requests that change the size: while there are any, writes wait.
    pub(crate) barriers: BTreeMap<Ticket, SizeChange>,
    pub(crate) ahead: ReadAhead,
    pub(crate) sending: WriteOut,
    pub(crate) errors: WriteErrors,
}

/// State of the read-ahead.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadAhead {
    /// End of the bytes that sequential readers have read.
    pub(crate) read_to: u64,
    /// Number of bytes to read ahead of them.
    pub(crate) distance: u64,
    /// End of the bytes read ahead.
    pub(crate) until: u64,
    /// Credentials for the reads.
    pub(crate) reader: Option<Arc<Credentials>>,
}

/// State of writing to the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteOut {
    /// Credentials for the writes.
    pub(crate) writer: Option<Arc<Credentials>>,
    /// Time since which the oldest dirty byte waits for its block to be filled.
    pub(crate) dirty_since: Option<Instant>,
    /// Time before which nothing is sent, because the server asked for a later retry or refused the data.
    pub(crate) not_before: Option<Instant>,
    pub(crate) refused: bool,
    pub(crate) commit: Option<u64>,
    /// Write verifier in the server's last reply.
    pub(crate) verifier: Option<WriteVerifier>,
    /// Number of COMMITs in a row with another verifier than their WRITEs had.
    pub(crate) mismatches: u32,
}

/// Errors of writes.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteErrors {
    /// The last error.
    pub(crate) last: Option<Error>,
    /// Number of errors so far.
    pub(crate) count: u64,
}

impl Content {
    /// Returns true if no writes may be sent.
    pub(crate) fn is_changing(&self) -> bool {
        self.barriers
            .values()
            .any(|barrier| *barrier == SizeChange::Changing)
    }

    /// Removes a request that no longer waits.
    pub(crate) fn forget_request(&mut self, ticket: Ticket) {
        self.readers.retain(|reader| reader.ticket != ticket);
        self.flushers.retain(|flusher| flusher.ticket != ticket);
        self.writers.retain(|writer| *writer != ticket);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.ranges.is_clean()
            && self.extents.is_idle()
            && self.readers.is_empty()
            && self.flushers.is_empty()
            && self.writers.is_empty()
            && self.barriers.is_empty()
            && self.sending.commit.is_none()
    }
}

/// A file or directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    seen: Option<Seen>,
    changes: Changes,
    /// For a directory: files by name, valid until the directory changes; `None` if there is no such name.
    names: BTreeMap<Bytes, Option<FileHandle>>,
    /// Number of openings.
    pub(crate) opens: u32,
    /// The name that it got when its last name was removed while it was open. It is removed at the last close.
    pub(crate) doomed: Option<Entry>,
    pub(crate) content: Content,
}

fn before(attributes: &Attributes) -> AttributesBefore {
    AttributesBefore {
        size: attributes.size,
        modified: attributes.times.modified,
        changed: attributes.times.changed,
    }
}

/// Returns the part of the attributes that shows a change.
fn version(attributes: &Attributes) -> (Time, Time, u64) {
    let times = attributes.times;
    (times.changed, times.modified, attributes.size)
}

/// Returns the later of two attributes, by the time of the last change. The server's clock may be coarse. If the times
/// are equal, the longer file is the later one, because nobody truncates a file while its attributes are in doubt.
fn later(known: Attributes, told: Attributes) -> Attributes {
    match told.times.changed.cmp(&known.times.changed) {
        Ordering::Less => known,
        Ordering::Greater => told,
        Ordering::Equal => Attributes {
            size: known.size.max(told.size),
            ..told
        },
    }
}

impl Node {
    /// Returns the attributes while they are valid.
    pub(crate) fn fresh(&self, now: Instant) -> Option<Attributes> {
        let seen = self.seen.filter(|seen| now < seen.until)?;
        Some(self.with_written(seen.attributes))
    }

    /// Returns the cached attributes, valid or not.
    pub(crate) fn known(&self) -> Option<Attributes> {
        self.seen.map(|seen| self.with_written(seen.attributes))
    }

    /// Returns the attributes as they will be when the server has all written data.
    fn with_written(&self, attributes: Attributes) -> Attributes {
        Attributes {
            size: attributes.size.max(self.content.ranges.end()),
            ..attributes
        }
    }

    /// Records that a call that changes the file is in flight.
    pub(crate) fn change_began(&mut self) {
        self.changes.under_way += 1;
    }

    /// Records that the change ended: number of its `call`, and number of calls made so far.
    pub(crate) fn change_ended(&mut self, call: u64, calls: u64) {
        let changes = &mut self.changes;
        changes.under_way = changes.under_way.saturating_sub(1);
        let is_alone = changes.under_way == 0 && call > changes.last;
        changes.alone = is_alone.then_some(call);
        changes.last = calls;
    }

    /// Records that a call changed the file without a matching [`change_began`](Self::change_began): its number, and
    /// the number of calls made so far.
    pub(crate) fn changed_by(&mut self, call: u64, calls: u64) {
        self.change_began();
        self.change_ended(call, calls);
    }

    /// Returns true if no other call of this client that changes the file overlapped with this one, so that its reply
    /// shows the present state.
    pub(crate) fn is_newest(&self, call: u64) -> bool {
        let changes = &self.changes;
        changes.under_way == 0 && (call > changes.last || changes.alone == Some(call))
    }

    /// Records attributes from the reply to the call of this number.
    pub(crate) fn note(&mut self, now: Instant, call: u64, told: Attributes, validity: &Validity) {
        let known = self.seen.map(|seen| seen.attributes);
        let is_newest = self.is_newest(call);
        let attributes = match known {
            // Received while a change was in flight: they may be older than it, or than the cached ones.
            Some(known) if !is_newest => later(known, told),
            _ => told,
        };
        let changed = known.is_some_and(|known| version(&known) != version(&attributes));
        if changed {
            self.names.clear();
            self.content.extents.forget_end();
        }
        self.set(now, attributes, changed, validity);
    }

    /// Records attributes of the file before and after a call of this client that changed it.
    pub(crate) fn note_own(
        &mut self,
        now: Instant,
        call: u64,
        told: &WeakCacheData,
        validity: &Validity,
    ) {
        let Some(after) = told.after else {
            self.expire();
            return;
        };
        let known = self.seen.map(|seen| before(&seen.attributes));
        let ours_alone = known.is_some() && known == told.before;
        let names = if ours_alone {
            std::mem::take(&mut self.names)
        } else {
            BTreeMap::new()
        };
        self.note(now, call, after, validity);
        self.names = names;
    }

    fn set(&mut self, now: Instant, attributes: Attributes, changed: bool, validity: &Validity) {
        let (least, most) = match attributes.kind {
            FileType::Directory => (validity.directory_min, validity.directory_max),
            _ => (validity.file_min, validity.file_max),
        };
        let span = match self.seen {
            // Attributes that held for their whole validity get a longer one the next time.
            Some(seen) if !changed && now >= seen.until => (seen.span * 2).max(least).min(most),
            Some(seen) if !changed => seen.span,
            _ => least,
        };
        self.seen = Some(Seen {
            attributes,
            until: now + span,
            span,
        });
    }

    /// Forgets everything cached.
    pub(crate) fn forget(&mut self) {
        self.seen = None;
        self.names.clear();
    }

    /// Ends the validity of the attributes.
    pub(crate) fn expire(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.until = Instant::ZERO;
        }
        self.names.clear();
    }

    /// Returns the file of a name, if it is cached.
    pub(crate) fn name(&self, now: Instant, name: &[u8]) -> NameLookup {
        match self.names.get(name).filter(|_| self.fresh(now).is_some()) {
            Some(Some(file)) => NameLookup::To(*file),
            Some(None) => NameLookup::Nowhere,
            None => NameLookup::Unknown,
        }
    }

    /// Caches the file of a name.
    pub(crate) fn set_name(&mut self, name: &Bytes, file: Option<FileHandle>) {
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        self.names.insert(name.clone(), file);
    }

    /// Returns true if the node is needed only as a cache.
    pub(crate) fn is_idle(&self) -> bool {
        self.opens == 0
            && self.doomed.is_none()
            && self.changes.under_way == 0
            && self.content.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use nfs::{Device, Times};

    use super::*;

    fn attributes(size: u64, seconds: u32) -> Attributes {
        let time = Time {
            seconds,
            nanoseconds: 0,
        };
        Attributes {
            kind: FileType::Regular,
            mode: 0o644,
            links: 1,
            user: 0,
            group: 0,
            size,
            used: size,
            device: Device::default(),
            file_system: 1,
            file_id: 2,
            times: Times {
                accessed: time,
                modified: time,
                changed: time,
            },
        }
    }

    /// The replies to two WRITEs and a GETATTR arrive in another order than that of the server.
    #[test]
    fn a_late_reply_to_a_write_does_not_shorten_the_file() {
        let (now, validity) = (Instant::from_millis(1_000), Validity::default());
        let mut node = Node::default();
        node.change_began();
        node.change_began();
        node.note(now, 3, attributes(20, 2), &validity);
        node.change_ended(1, 3);
        let of_first = WeakCacheData {
            before: None,
            after: Some(attributes(10, 1)),
        };
        node.note_own(now, 1, &of_first, &validity);
        assert_eq!(node.fresh(now).map(|seen| seen.size), Some(20));
    }
}
