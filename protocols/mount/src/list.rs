//! Listings of open directories for the kernel.

use files::{Found, Operation as Wanted, Page};
use nfs::ListedName;
use units::Duration;

use crate::attributes::to_kernel;
use crate::call::{Call, Step};
use crate::directories::{Cursor, Part};
use crate::errno::Failure;
use crate::{Answer, Entry, Errno, Fault, FileSystem, Handle, Listed, Listing, Node};

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
