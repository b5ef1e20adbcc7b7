//! READDIR and READDIRPLUS.

use ::nfs::{
    Answer, CookieVerifier, Entry, EntryPlus, FileHandle, List, ListedName, Page, PagePlus,
    ReadDirectory, ReadDirectoryPlus, Status, Value, write_list,
};

use super::outcome;
use crate::FalseAnswer;
use crate::programs::Programs;
use crate::storage::{ITSELF, PARENT};

/// Largest size of a page without its entries, in bytes: status, attributes, verifier, end of directory.
const AROUND: usize = 4 + 88 + 8 + 4;
/// Size of a reply before its results, in bytes.
const HEADER: usize = 24;
/// Size of a READDIR entry without its name, in bytes: flag, inode, length, cookie.
const ENTRY: usize = 4 + 8 + 4 + 8;

/// Size of the end of a list, in bytes.
const END: usize = 4;

/// A listing request: its start, and the largest size of its entries in READDIR encoding.
struct Wanted {
    directory: FileHandle,
    cookie: u64,
    verifier: CookieVerifier,
    budget: usize,
}

/// A directory entry.
struct Found {
    cookie: u64,
    name: Vec<u8>,
    number: u64,
}

/// Entries, and true if they are the last.
struct Entries {
    found: Vec<Found>,
    complete: bool,
}

/// Encoded entries, and true if they are the last.
struct Written {
    list: Vec<u8>,
    complete: bool,
}

impl Programs {
    pub(super) fn read_directory(&self, call: &ReadDirectory, results: &mut Vec<u8>) {
        let attributes = self.told(&call.directory);
        let limit = self.room(call.count);
        let wanted = Wanted {
            directory: call.directory,
            cookie: call.cookie,
            verifier: call.verifier,
            budget: limit,
        };
        let written = self
            .entries(&wanted)
            .and_then(|Entries { found, complete }| {
                let entries = found.iter().map(|found| Entry {
                    file_id: found.number,
                    name: ListedName::new(&found.name),
                    cookie: found.cookie,
                });
                self.write(entries, complete, limit)
            });
        let page = written.as_ref().map(|written| Page {
            attributes,
            verifier: self.cookie_verifier,
            entries: list(&written.list),
            end_of_directory: written.complete,
        });
        let page = page.map_err(|status| *status);
        let answer: Answer<'_, ReadDirectory> = outcome(page, attributes);
        answer.encode(results);
    }

    pub(super) fn read_directory_plus(&self, call: &ReadDirectoryPlus, results: &mut Vec<u8>) {
        let attributes = self.told(&call.directory);
        let limit = self.room(call.maximum_count);
        let wanted = Wanted {
            directory: call.directory,
            cookie: call.cookie,
            verifier: call.verifier,
            budget: limit.min(call.directory_count as usize),
        };
        let written = self
            .entries(&wanted)
            .and_then(|Entries { found, complete }| {
                let entries = found.iter().map(|found| EntryPlus {
                    file_id: found.number,
                    name: ListedName::new(&found.name),
                    cookie: found.cookie,
                    attributes: Some(self.attributes_of(found.number)),
                    object: Some(self.storage.handle(found.number)),
                });
                self.write(entries, complete, limit)
            });
        let page = written.as_ref().map(|written| PagePlus {
            attributes,
            verifier: self.cookie_verifier,
            entries: list(&written.list),
            end_of_directory: written.complete,
        });
        let page = page.map_err(|status| *status);
        let answer: Answer<'_, ReadDirectoryPlus> = outcome(page, attributes);
        answer.encode(results);
    }

    /// Returns the room for the entries of a page of `count` bytes, in bytes.
    fn room(&self, count: u32) -> usize {
        let sent = self.config.longest_message.get() as usize - HEADER;
        sent.min(count as usize).saturating_sub(AROUND)
    }

    fn entries(&self, wanted: &Wanted) -> Result<Entries, Status> {
        let number = self.storage.resolve(&wanted.directory)?;
        let directory = self.storage.directory(number)?;
        if wanted.cookie != 0 && wanted.verifier != self.cookie_verifier {
            return Err(Status::BadCookie);
        }
        if self.lie == Some(FalseAnswer::EmptyPages) {
            let (found, complete) = (Vec::new(), false);
            return Ok(Entries { found, complete });
        }
        let again = (self.lie == Some(FalseAnswer::CookieLoop)).then_some(0);
        let starts = [wanted.cookie].into_iter().chain(again);
        let all = starts.flat_map(|cookie| {
            let dots = [
                (ITSELF, &b"."[..], number),
                (PARENT, b"..", directory.parent),
            ];
            let dots = dots.into_iter().filter(move |dot| dot.0 > cookie);
            dots.chain(directory.behind(cookie))
        });
        let mut entries = Entries {
            found: Vec::new(),
            complete: again.is_none(),
        };
        let mut budget = wanted.budget;
        for (cookie, name, number) in all {
            let name = self.lie.map_or(name.to_vec(), |lie| lie.name(name));
            let cost = ENTRY + name.len().next_multiple_of(4);
            if cost > budget {
                entries.complete = false;
                break;
            }
            budget -= cost;
            let entry = Found {
                cookie,
                name,
                number,
            };
            entries.found.push(entry);
        }
        Ok(entries)
    }

    /// Encodes as many entries as fit. A page without entries is an error unless it is the last.
    fn write<'a, T: Value<'a>>(
        &self,
        entries: impl Iterator<Item = T>,
        complete: bool,
        limit: usize,
    ) -> Result<Written, Status> {
        let mut list = Vec::new();
        let all = write_list(entries, limit, &mut list);
        let complete = complete && all;
        let empty = list.len() == END;
        if empty && !complete && self.lie != Some(FalseAnswer::EmptyPages) {
            return Err(Status::TooSmall);
        }
        Ok(Written { list, complete })
    }
}

/// Returns the list encoded as `bytes`.
fn list<'a, T: Value<'a>>(bytes: &'a [u8]) -> List<'a, T> {
    List::encoded(bytes).expect("what was written can be read")
}
