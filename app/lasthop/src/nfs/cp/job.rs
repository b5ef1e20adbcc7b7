//! The copy of one file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::destination::Directory;
use super::meter::Meter;
use super::options::How;
use super::origin::{Opened, Origin};
use super::part::{MARKED, Part};
use super::verify::digest;
use crate::nfs::problem::Problem;
use crate::nfs::session::Session;
use crate::nfs::transfer::{PIECE, Transfer};

/// Limit of bytes in flight of all large files together.
const WINDOW: u64 = 16 << 20;

/// A file to copy.
pub(super) struct Job {
    pub(super) origin: Origin,
    pub(super) directory: Directory,
    pub(super) name: Vec<u8>,
}

/// State that all jobs share.
pub(super) struct Shared<'s> {
    pub(super) how: How,
    pub(super) meter: &'s Meter,
    /// Connection on which copies at a server are read back.
    pub(super) reader: Option<&'s Arc<Session>>,
    /// Number of running transfers, which share the window.
    pub(super) active: AtomicU64,
}

impl Job {
    /// Copies the file. A part that an interruption leaves is reported to the meter if it can be resumed.
    pub(super) fn run(&self, shared: &Shared<'_>) -> Result<(), Problem> {
        let opened = self.origin.open()?;
        let mut part = self.directory.begin(&self.name, &opened.meta, shared.how)?;
        shared.meter.expect(self.origin.meta.size, opened.meta.size);
        let done = self.fill(&opened, &mut *part, shared);
        if done.is_err() && opened.meta.size >= MARKED {
            shared.meter.left(&self.directory.shown(&self.name));
        }
        done?;
        drop(part);
        if shared.how.verify {
            self.verify(shared)?;
        }
        shared.meter.file_done();
        Ok(())
    }

    /// Copies the missing bytes, and renames the part to the file.
    fn fill(
        &self,
        opened: &Opened,
        part: &mut dyn Part,
        shared: &Shared<'_>,
    ) -> Result<(), Problem> {
        let meta = opened.meta;
        let present = part.present();
        shared.meter.resume(present);
        shared.active.fetch_add(1, Ordering::Relaxed);
        let transfer = Transfer {
            source: &*opened.source,
            sink: part,
            from: present,
            until: meta.size,
            window: &|| WINDOW / shared.active.load(Ordering::Relaxed).max(1),
            progress: &|bytes| shared.meter.advance(bytes),
        };
        let moved = transfer.run();
        shared.active.fetch_sub(1, Ordering::Relaxed);
        moved?;
        if !self.origin.meta_now()?.is_same_content(&meta) {
            let what = "it was changed while it was copied: copy it again";
            return Err(Problem::at(&self.origin.shown, what));
        }
        part.finish(&meta, shared.how)
    }

    fn verify(&self, shared: &Shared<'_>) -> Result<(), Problem> {
        let copy = self.directory.read_back(&self.name, shared.reader)?;
        let window = 4 * PIECE;
        let (source, copy) = (
            digest(&self.origin.open()?, window)?,
            digest(&copy, window)?,
        );
        if source == copy {
            return Ok(());
        }
        let what = "what was read back differs from the source: copy it again";
        Err(Problem::at(self.directory.shown(&self.name), what))
    }
}
