//! One file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::How;
use super::destination::Directory;
use super::meter::Meter;
use super::origin::Origin;
use super::verify::digest;
use crate::nfs::problem::Problem;
use crate::nfs::session::Session;
use crate::nfs::transfer::{PIECE, Transfer};

/// Bytes of all large files that are under way together.
const WINDOW: u64 = 16 << 20;

/// A file to copy.
pub(super) struct Job {
    pub(super) origin: Origin,
    pub(super) directory: Directory,
    pub(super) name: Vec<u8>,
}

/// What all jobs share.
pub(super) struct Shared<'s> {
    pub(super) how: How,
    pub(super) meter: &'s Meter,
    /// Through what copies at a server are read back.
    pub(super) reader: Option<&'s Arc<Session>>,
    /// Transfers under way, which share the window.
    pub(super) active: AtomicU64,
}

impl Job {
    /// Copies the file. What an interruption leaves, if it is worth going on with, is told to the meter.
    pub(super) fn run(&self, shared: &Shared<'_>) -> Result<(), Problem> {
        let opened = self.origin.open()?;
        let meta = opened.meta;
        let mut part = self.directory.begin(&self.name, &meta, shared.how)?;
        let present = part.present();
        shared.meter.expect(self.origin.meta.size, meta.size);
        shared.meter.resume(present);
        shared.active.fetch_add(1, Ordering::Relaxed);
        let transfer = Transfer {
            source: &*opened.source,
            sink: &mut *part,
            from: present,
            until: meta.size,
            window: &|| WINDOW / shared.active.load(Ordering::Relaxed).max(1),
            progress: &|bytes| shared.meter.advance(bytes),
        };
        let moved = transfer.run();
        shared.active.fetch_sub(1, Ordering::Relaxed);
        if meta.size >= super::part::MARKED && moved.is_err() {
            shared.meter.left(&self.directory.shown(&self.name));
        }
        moved?;
        if !self.origin.meta_now()?.is_same_content(&meta) {
            let what = "it was changed while it was copied: copy it again";
            return Err(Problem::at(&self.origin.shown, what));
        }
        part.finish(&meta, shared.how)?;
        drop(part);
        if shared.how.verify {
            self.verify(shared)?;
        }
        shared.meter.file_done();
        Ok(())
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
