//! The walk over a tree to copy: it creates directories and links, and passes files to the workers.

use std::sync::mpsc::SyncSender;

use nfs::FileType;

use super::destination::Directory;
use super::job::Job;
use super::meta::Meta;
use super::meter::Meter;
use super::options::How;
use crate::interrupt;
use crate::nfs::problem::Problem;

/// Directories whose mode and times are set at the end.
pub(super) type Finished = Vec<(Directory, Meta)>;

/// The walk over a tree.
pub(super) struct Walk<'w> {
    pub(super) how: How,
    pub(super) meter: &'w Meter,
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
                    self.meter.note(made);
                }
                _ => self.meter.failed(&job.origin.special()),
            }
        }
        Ok(())
    }

    fn hand_over(&self, job: Job) {
        self.meter.found(job.origin.meta.size);
        if self.jobs.send(job).is_err() {
            unreachable!("workers end when there is nobody left to send");
        }
    }

    /// Creates a directory, and lists its source. An error ends the walk; any other failure is only reported.
    fn enter(&mut self, job: &Job, waiting: &mut Vec<Job>) -> Result<(), Problem> {
        let (origin, meter) = (&job.origin, self.meter);
        if self.top.as_ref().is_some_and(|top| top.is(origin)) {
            let what = "this is the destination: it is not copied into itself";
            meter.failed(&Problem::at(&origin.shown, what));
            return Ok(());
        }
        let is_inner = self.top.is_some();
        let entered = job
            .directory
            .enter(&job.name, &origin.meta, self.how, is_inner);
        let inner = match entered {
            Ok(inner) => inner,
            Err(problem) => {
                meter.failed(&problem);
                return Ok(());
            }
        };
        if !is_inner && inner.is(origin) {
            let what = "source and destination are the same directory";
            return Err(Problem::at(&origin.shown, what));
        }
        self.top.get_or_insert_with(|| inner.clone());
        self.finished.push((inner.clone(), origin.meta));
        meter.note(origin.children(&mut |child| {
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
