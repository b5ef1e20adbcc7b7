//! The entries of directories.

use bytes::Bytes;
use nfs::checks::Implausible;
use nfs::{CookieVerifier, FileHandle, ListedName, ReadDirectory, ReadDirectoryPlus, Status};
use units::Instant;

use super::Client;
use super::ask::CallReply;
use super::request::Stage;
use crate::config::BLOCK_MAX;
use crate::{Error, Found, ListPlace, Listed, Page, Reply, Ticket};

/// Returns the place behind `cookie`, or an error if there can be none.
fn next_place(
    told: &CallReply,
    verifier: CookieVerifier,
    cookie: Result<Option<u64>, Implausible>,
) -> Result<Option<ListPlace>, Error> {
    let cookie = cookie.map_err(|fault| told.implausible(fault))?;
    Ok(cookie.map(|cookie| ListPlace { cookie, verifier }))
}

impl Client {
    /// Processes a page of `directory`.
    pub(super) fn listed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        directory: FileHandle,
        from: ListPlace,
        told: &CallReply,
    ) -> Result<(), Error> {
        let plus = told.procedure == nfs::Procedure::ReadDirectoryPlus;
        let page = if plus {
            self.page_plus(now, directory, told)
        } else {
            self.page(now, directory, told)
        };
        match page.as_ref().err().and_then(Error::status) {
            Some(Status::NotSupported) if plus => {
                self.server.lacks_plus = true;
                self.ask(now, ticket, Stage::Main);
                return Ok(());
            }
            Some(Status::TooSmall) if self.server.directory < BLOCK_MAX => {
                self.server.directory = (self.server.directory * 2).min(BLOCK_MAX);
                self.ask(now, ticket, Stage::Main);
                return Ok(());
            }
            _ => {}
        }
        let Page { entries, next } = page?;
        if next.is_some_and(|next| next.cookie == from.cookie) {
            let cookie = from.cookie;
            return Err(told.implausible(Implausible::CookieLoop { cookie }));
        }
        self.end(ticket, Ok(Reply::Page { entries, next }));
        Ok(())
    }

    fn page(
        &mut self,
        now: Instant,
        directory: FileHandle,
        told: &CallReply,
    ) -> Result<Page, Error> {
        let page = told.done::<ReadDirectory>()?;
        self.note(now, told, directory, page.attributes)?;
        let verifier = page.verifier;
        let next = next_place(told, verifier, page.next_cookie())?;
        let mut entries = Vec::new();
        for entry in &page.entries {
            let cookie = entry.cookie;
            if let Some((name, _)) = self.shown(entry.name) {
                entries.push(Listed {
                    name,
                    file_id: entry.file_id,
                    next: ListPlace { cookie, verifier },
                    found: None,
                });
            }
        }
        Ok(Page { entries, next })
    }

    /// Processes a page with the file handles of its names.
    fn page_plus(
        &mut self,
        now: Instant,
        directory: FileHandle,
        told: &CallReply,
    ) -> Result<Page, Error> {
        let page = told.done::<ReadDirectoryPlus>()?;
        self.note(now, told, directory, page.attributes)?;
        let verifier = page.verifier;
        let next = next_place(told, verifier, page.next_cookie())?;
        let mut entries = Vec::new();
        for entry in &page.entries {
            let cookie = entry.cookie;
            let Some((name, is_entry)) = self.shown(entry.name) else {
                continue;
            };
            let mut found = None;
            if let Some(file) = entry.object {
                let attributes = self.note(now, told, file, entry.attributes)?;
                found = attributes.map(|attributes| Found { file, attributes });
                if is_entry && self.node(directory).fresh(now).is_some() {
                    self.node(directory).set_name(&name, Some(file));
                }
            }
            entries.push(Listed {
                name,
                file_id: entry.file_id,
                next: ListPlace { cookie, verifier },
                found,
            });
        }
        Ok(Page { entries, next })
    }

    /// Returns a name that may be shown, and whether it is an entry of the directory's own. Drops and counts a name
    /// that could do harm.
    fn shown(&mut self, name: ListedName<'_>) -> Option<(Bytes, bool)> {
        match name.check() {
            Ok(nfs::Listed::Itself) => Some((Bytes::from_static(b"."), false)),
            Ok(nfs::Listed::Parent) => Some((Bytes::from_static(b".."), false)),
            Ok(nfs::Listed::Entry(name)) => Some((Bytes::copy_from_slice(name.bytes()), true)),
            Err(_) => {
                self.counters.bad_names += 1;
                None
            }
        }
    }
}
