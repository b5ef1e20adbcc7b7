//! The open directories and their listings.
//!
//! An offset in a listing is the server's cookie, so the kernel may go back to any offset, after any time.

use std::collections::{BTreeMap, VecDeque};

use files::{Found, ListPlace, Operation as Wanted, Page};
use nfs::ListedName;
use nfs::checks::{CookieWatch, Implausible};
use units::Duration;

use crate::attributes::to_kernel;
use crate::calls::{Call, Step};
use crate::errno::Failure;
use crate::{Answer, Entry, Errno, Fault, FileSystem, Handle, Listed, Listing, Node, Opened};

/// First handle of a directory; those of files are smaller.
const FIRST_HANDLE: u64 = 1 << 63;

/// State of the listing of an open directory.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    /// Place of the first buffered entry.
    at: ListPlace,
    /// Entries from the server that the kernel has not got yet.
    entries: VecDeque<files::Listed>,
    /// Place after these entries, at which the listing continues; none at its end.
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
    /// Returns a cursor at `place`, without entries.
    fn before(place: ListPlace) -> Self {
        Self {
            at: place,
            next: Some(place),
            ..Self::default()
        }
    }

    /// Returns the cursor moved to the kernel's `offset`.
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
    fn take(&mut self, page: Page) -> Result<(), Implausible> {
        if let Some(next) = page.next {
            self.watch.go_on(next.cookie)?;
        }
        self.entries = page.entries.into();
        self.next = page.next;
        Ok(())
    }
}

/// The open directories.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directories {
    open: BTreeMap<Handle, Cursor>,
    made: u64,
}

impl Directories {
    /// Opens a directory.
    pub(crate) fn open(&mut self) -> Opened {
        let handle = Handle(FIRST_HANDLE + self.made);
        self.made += 1;
        self.open.insert(handle, Cursor::default());
        Opened {
            handle,
            keep_content: false,
        }
    }

    /// Closes a directory, if it is open.
    pub(crate) fn close(&mut self, handle: Handle) {
        self.open.remove(&handle);
    }

    fn put_back(&mut self, handle: Handle, cursor: Cursor) {
        if let Some(place) = self.open.get_mut(&handle) {
            *place = cursor;
        }
    }
}

/// A listing for the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    handle: Handle,
    listing: Listing,
}

impl FileSystem {
    /// Lists a directory from a place on.
    pub(crate) fn list(&mut self, call: &Call, handle: Handle, offset: u64, listing: Listing) {
        match self.directories.open.get_mut(&handle) {
            Some(place) => {
                let cursor = std::mem::take(place).moved_to(offset);
                self.go_on_listing(call, cursor, Part { handle, listing });
            }
            None => self.refuse(call, Errno::BADF),
        }
    }

    /// Gives what is here, or asks the server for more.
    fn go_on_listing(&mut self, call: &Call, mut cursor: Cursor, mut part: Part) {
        self.fill(&mut cursor, &mut part.listing);
        if !cursor.entries.is_empty() && part.listing.is_empty() {
            self.directories.put_back(part.handle, cursor);
            return self.refuse(call, Errno::INVAL);
        }
        let Some(next) = cursor.next.filter(|_| part.listing.is_empty()) else {
            self.directories.put_back(part.handle, cursor);
            return self.answer(call, Answer::Listing(part.listing));
        };
        cursor.at = next;
        let wanted = Wanted::List {
            directory: call.file,
            from: next,
        };
        self.ask(call, wanted, Step::List(cursor, part));
    }

    /// Handles a page from the server.
    pub(crate) fn listed(
        &mut self,
        call: &Call,
        mut cursor: Cursor,
        part: Part,
        result: Result<Page, Failure>,
    ) {
        let taken = result.and_then(|page| {
            cursor.take(page).map_err(|fault| {
                let procedure = nfs::Procedure::ReadDirectory;
                Failure::Files(files::Error::Implausible { procedure, fault })
            })
        });
        match taken {
            Ok(()) => self.go_on_listing(call, cursor, part),
            Err(failure) => {
                self.directories.put_back(part.handle, cursor);
                self.fail(call, &failure);
            }
        }
    }

    /// Moves entries from the cursor into the listing, as long as there is room. Entries with invalid names are left
    /// out.
    fn fill(&mut self, cursor: &mut Cursor, listing: &mut Listing) {
        while let Some(listed) = cursor.entries.front() {
            let fits = match ListedName::new(&listed.name).check() {
                Ok(name) => self.push(listing, listed, matches!(name, nfs::Listed::Entry(_))),
                Err(fault) => {
                    self.log(Fault::Name(fault));
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

    /// Appends one entry. Returns false if there is no room. `.` and `..` are no references.
    fn push(&mut self, listing: &mut Listing, listed: &files::Listed, is_entry: bool) -> bool {
        let found = listed.found.as_ref();
        let referred = found
            .filter(|_| listing.with_entries() && is_entry)
            .and_then(|found| self.refer(found).ok());
        let fits = listing.push(Listed {
            name: listed.name.clone(),
            next: listed.next.cookie,
            number: listed.file_id,
            entry: referred.unwrap_or_else(|| only_kind(found)),
        });
        if let (false, Some(entry)) = (fits, referred) {
            self.unrefer(&entry);
        }
        fits
    }
}

/// Returns an entry without a node, but with the file type if it is known.
fn only_kind(found: Option<&Found>) -> Entry {
    Entry {
        found: found.map(|found| crate::Found {
            node: Node(0),
            attributes: to_kernel(&found.attributes),
        }),
        name_valid: Duration::ZERO,
        attributes_valid: Duration::ZERO,
    }
}
