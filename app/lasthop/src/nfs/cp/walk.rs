//! The walk over a tree to copy: it creates directories and links, and passes files to the workers.

use std::sync::mpsc::SyncSender;

use nfs::FileType;

use super::copier::{Copier, Finished};
use super::destination::Directory;
use super::job::Job;
use crate::interrupt;
use crate::nfs::problem::Problem;

/// The walk over a tree.
pub(super) struct Walk<'w> {
    pub(super) copier: &'w Copier<'w>,
    pub(super) jobs: &'w SyncSender<Job>,
    pub(super) finished: &'w mut Finished,
    /// Copy of the whole tree, once it exists.
    pub(super) top: Option<Directory>,
}

impl Walk<'_> {
    /// Walks over the tree with this root.
    pub(super) fn run(mut self, first: Job) -> Result<(), Problem> {
        let mut waiting = vec![first];
        while let Some(job) = waiting.pop() {
            if interrupt::is_set() {
                return Err(Problem::Interrupted);
            }
            match job.origin.kind {
                FileType::Regular => self.hand_over(job),
                FileType::Directory => self.enter(&job, &mut waiting)?,
                FileType::SymbolicLink => {
                    let target = job.origin.target();
                    let made =
                        target.and_then(|target| job.directory.make_link(&job.name, &target));
                    self.copier.note(made);
                }
                _ => self.copier.meter.failed(&job.origin.special()),
            }
        }
        Ok(())
    }

    fn hand_over(&self, job: Job) {
        self.copier.meter.found(job.origin.meta.size);
        if self.jobs.send(job).is_err() {
            unreachable!("workers end when there is nobody left to send");
        }
    }

    /// Creates a directory, and lists its source. An error ends the walk; any other failure is only reported.
    fn enter(&mut self, job: &Job, waiting: &mut Vec<Job>) -> Result<(), Problem> {
        let (origin, copier) = (&job.origin, self.copier);
        if self.top.as_ref().is_some_and(|top| origin.is(top)) {
            let what = "this is the destination: it is not copied into itself";
            copier.meter.failed(&Problem::at(&origin.shown, what));
            return Ok(());
        }
        let is_inner = self.top.is_some();
        let meta = (&origin.meta, copier.how);
        let inner = match job.directory.enter(&job.name, meta, is_inner) {
            Ok(inner) => inner,
            Err(problem) => {
                copier.meter.failed(&problem);
                return Ok(());
            }
        };
        if !is_inner && origin.is(&inner) {
            let what = "source and destination are the same directory";
            return Err(Problem::at(&origin.shown, what));
        }
        self.top.get_or_insert_with(|| inner.clone());
        self.finished.push((inner.clone(), origin.meta));
        copier.note(origin.children(&mut |child| {
            waiting.push(Job {
                name: child.name.clone(),
                origin: child,
                directory: inner.clone(),
            });
            Ok(())
        }));
        Ok(())
    }
}
