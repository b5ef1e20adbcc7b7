//! The open directories, and the place of each one's listing.
//!
//! An offset in a listing is the server's cookie, so the kernel may go back to any offset, after any time.

use std::collections::{BTreeMap, VecDeque};

use files::{ListPlace, Page};
use nfs::checks::{CookieCheck, Implausible};

use crate::{Handle, Listing, Opened};

/// First handle of a directory; those of files are smaller.
const FIRST_HANDLE: u64 = 1 << 63;

/// State of the listing of an open directory.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    /// Place of the first buffered entry.
    pub(crate) at: ListPlace,
    /// Entries from the server that the kernel has not got yet.
    pub(crate) entries: VecDeque<files::Listed>,
    /// Place after these entries, at which the listing continues; none at its end.
    pub(crate) next: Option<ListPlace>,
    watch: CookieCheck,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            at: ListPlace::START,
            entries: VecDeque::new(),
            next: Some(ListPlace::START),
            watch: CookieCheck::default(),
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
    pub(crate) fn moved_to(self, offset: u64) -> Self {
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
    pub(crate) fn take(&mut self, page: Page) -> Result<(), Implausible> {
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
    pub(crate) open: BTreeMap<Handle, Cursor>,
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

    pub(crate) fn put_back(&mut self, handle: Handle, cursor: Cursor) {
        if let Some(place) = self.open.get_mut(&handle) {
            *place = cursor;
        }
    }
}

/// A listing for the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) handle: Handle,
    pub(crate) listing: Listing,
}
