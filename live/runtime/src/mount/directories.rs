//! Directories that are open, and what is in them.
//!
//! A place in a listing has the number that the server gave it (its cookie), so that the kernel may go back to
//! any place, after any time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use edges::fuse::{Answer, Entry, Handle, Listing, Node, Opened};
use files::{Found, ListPlace, Listed, Operation as Wanted, Reply};
use nfs::ListedName;
use nfs::checks::{CookieWatch, Implausible};
use rustix::io::Errno;

use super::attributes::to_kernel;
use super::calls::Call;
use super::file_system::FileSystem;
use super::service::FileService;
use crate::files::CallError;
use crate::lock;

/// A listing that is under way in an open directory.
#[derive(Debug)]
struct Cursor {
    /// Where the entries that are here begin.
    at: ListPlace,
    /// What the server has listed and the kernel has not got yet.
    entries: VecDeque<Listed>,
    /// Where the listing goes on behind them; nothing at its end.
    next: Option<ListPlace>,
    watch: CookieWatch,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            at: ListPlace::START,
            entries: VecDeque::new(),
            next: Some(ListPlace::START),
            watch: CookieWatch::default(),
        }
    }
}

impl Cursor {
    /// A cursor with nothing at hand, before `place`.
    fn before(place: ListPlace) -> Self {
        Self {
            at: place,
            next: Some(place),
            ..Self::default()
        }
    }

    /// The cursor at the place that the kernel names by its number.
    fn moved_to(self, offset: u64) -> Self {
        match offset {
            _ if offset == self.at.cookie => self,
            0 => Self::default(),
            cookie => Self::before(ListPlace {
                cookie,
                verifier: self.at.verifier,
            }),
        }
    }

    /// Takes a page of the server.
    fn take(&mut self, entries: Vec<Listed>, next: Option<ListPlace>) -> Result<(), Implausible> {
        if let Some(next) = next {
            self.watch.go_on(next.cookie)?;
        }
        self.entries = entries.into();
        self.next = next;
        Ok(())
    }
}

/// The directories that are open.
#[derive(Debug, Default)]
pub(super) struct Directories {
    open: HashMap<Handle, Cursor>,
    made: u64,
}

/// What the kernel wants of a listing, and what it gets.
struct Part {
    handle: Handle,
    listing: Listing,
    with_entries: bool,
    /// What it has got references to.
    told: Vec<Entry>,
}

impl<S: FileService> FileSystem<S> {
    pub(super) fn open_directory(&self, call: &Call) {
        let handle = {
            let mut directories = lock(&self.directories);
            directories.made += 1;
            let handle = Handle(directories.made);
            directories.open.insert(handle, Cursor::default());
            handle
        };
        let opened = Opened {
            handle,
            keep_content: false,
        };
        if !self.answer_taken(call, &Answer::Opened(opened)) {
            lock(&self.directories).open.remove(&handle);
        }
    }

    pub(super) fn close_directory(&self, call: &Call, handle: Handle) {
        lock(&self.directories).open.remove(&handle);
        self.answer(call, &Answer::Done);
    }

    /// Lists a directory from a place on.
    pub(super) fn list(
        self: &Arc<Self>,
        call: Call,
        handle: Handle,
        (offset, size, with_entries): (u64, u32, bool),
    ) {
        let cursor = lock(&self.directories)
            .open
            .get_mut(&handle)
            .map(std::mem::take);
        let Some(cursor) = cursor else {
            self.kernel.answer(call.id, &Answer::Error(Errno::BADF));
            return;
        };
        let part = Part {
            handle,
            listing: Listing::new(size, with_entries),
            with_entries,
            told: Vec::new(),
        };
        self.go_on(call, cursor.moved_to(offset), part);
    }

    /// Tells what is here, or asks the server for more.
    fn go_on(self: &Arc<Self>, call: Call, mut cursor: Cursor, mut part: Part) {
        self.fill(&mut cursor, &mut part);
        if !cursor.entries.is_empty() && part.listing.is_empty() {
            self.put_back(part.handle, cursor);
            return self.refuse(&call, Errno::INVAL);
        }
        let Some(next) = cursor.next.filter(|_| part.listing.is_empty()) else {
            return self.tell_listing(&call, cursor, part);
        };
        cursor.at = next;
        let wanted = Wanted::List {
            directory: call.file,
            from: next,
        };
        self.ask_and_see(call, wanted, move |system, call, result| {
            let taken = match result {
                Ok(Reply::Page { entries, next }) => cursor.take(entries, next).map_err(|fault| {
                    let procedure = nfs::Procedure::ReadDirectory;
                    CallError::Files(files::Error::Implausible { procedure, fault })
                }),
                Ok(_) => return system.unexpected(&call),
                Err(error) => Err(error),
            };
            match taken {
                Ok(()) => system.go_on(call, cursor, part),
                Err(error) => {
                    system.put_back(part.handle, cursor);
                    system.fail(&call, &error);
                }
            }
        });
    }

    /// Moves entries from the cursor into the part, as long as there is room. Names that nobody may see are left out.
    fn fill(&self, cursor: &mut Cursor, part: &mut Part) {
        while let Some(listed) = cursor.entries.front() {
            let fits = match ListedName::new(&listed.name).check() {
                Ok(name) => self.push(part, listed, matches!(name, nfs::Listed::Entry(_))),
                Err(fault) => {
                    self.log(&format_args!(
                        "a name that the server lists is left out: {fault}"
                    ));
                    true
                }
            };
            if !fits {
                return;
            }
            cursor.at = listed.next;
            cursor.entries.pop_front();
        }
    }

    /// Tells of one entry; false if there is no room. `.` and `..` are no references.
    fn push(&self, part: &mut Part, listed: &Listed, is_entry: bool) -> bool {
        let found = listed.found.as_ref();
        let referred = found
            .filter(|_| part.with_entries && is_entry)
            .and_then(|found| self.refer(found).ok());
        let told = referred.unwrap_or_else(|| only_kind(found));
        let (next, number) = (listed.next.cookie, listed.file_id);
        let fits = part.listing.push(&listed.name, next, number, &told);
        match referred {
            Some(entry) if fits => part.told.push(entry),
            Some(entry) => self.unrefer(&entry),
            None => {}
        }
        fits
    }

    fn tell_listing(&self, call: &Call, cursor: Cursor, part: Part) {
        // First, because the kernel may come again as soon as it is answered.
        self.put_back(part.handle, cursor);
        if !self.answer_taken(call, &Answer::Listing(part.listing)) {
            for entry in &part.told {
                self.unrefer(entry);
            }
        }
    }

    fn put_back(&self, handle: Handle, cursor: Cursor) {
        if let Some(place) = lock(&self.directories).open.get_mut(&handle) {
            *place = cursor;
        }
    }
}

/// What tells of no node, but of the kind if it is known.
fn only_kind(found: Option<&Found>) -> Entry {
    Entry {
        found: found.map(|found| edges::fuse::Found {
            node: Node(0),
            attributes: to_kernel(&found.attributes),
        }),
        name_valid: Duration::ZERO,
        attributes_valid: Duration::ZERO,
    }
}
