//! Whole trees, many files at the same time.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use nfs::FileType;

use super::How;
use super::destination::{Destination, Directory};
use super::job::{Job, Shared};
use super::meta::Meta;
use super::meter::Meter;
use super::origin::Origin;
use crate::interrupt;
use crate::nfs::problem::Problem;
use crate::nfs::session::Session;

/// Files that wait for a worker.
const QUEUE: usize = 1_024;

/// Copies trees.
pub(super) struct Copier<'c> {
    pub(super) how: How,
    /// Files that are copied at the same time.
    pub(super) jobs: usize,
    pub(super) meter: &'c Meter,
    /// Through what copies at a server are read back.
    pub(super) reader: Option<Arc<Session>>,
}

/// Directories whose rights and times are set at the end.
type Finished = Vec<(Directory, Meta)>;

impl Copier<'_> {
    /// Copies everything. What fails is told at once, and the rest goes on.
    pub(super) fn copy(
        &self,
        origins: &[Origin],
        destination: &Destination,
    ) -> Result<(), Problem> {
        let shared = Shared {
            how: self.how,
            meter: self.meter,
            reader: self.reader.as_ref(),
            active: AtomicU64::new(0),
        };
        let (sender, receiver) = sync_channel(QUEUE);
        let receiver = Mutex::new(receiver);
        let mut finished = Vec::new();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| work(&receiver, &shared));
            }
            for origin in origins {
                let (directory, name) = destination.target(&origin.name);
                let walked = self.walk(origin, (directory, &name), &sender, &mut finished);
                self.note(walked);
            }
            drop(sender);
        });
        if self.how.preserve && !interrupt::is_set() {
            for (directory, meta) in finished.iter().rev() {
                self.note(directory.finish(meta, self.how));
            }
        }
        self.meter.outcome()
    }

    fn note(&self, result: Result<(), Problem>) {
        if let Err(problem) = result {
            self.meter.failed(&problem);
        }
    }

    /// Makes directories and links, and hands files to the workers.
    fn walk(
        &self,
        origin: &Origin,
        (directory, name): (&Directory, &[u8]),
        jobs: &SyncSender<Job>,
        finished: &mut Finished,
    ) -> Result<(), Problem> {
        let mut waiting = vec![(origin.clone(), directory.clone(), name.to_vec(), false)];
        let mut top = None;
        while let Some((origin, directory, name, is_inner)) = waiting.pop() {
            if interrupt::is_set() {
                return Err(Problem::Interrupted);
            }
            match origin.kind {
                FileType::Regular => {
                    self.meter.found(origin.meta.size);
                    let job = Job {
                        origin,
                        directory,
                        name,
                    };
                    if jobs.send(job).is_err() {
                        unreachable!("workers end when there is nobody left to send");
                    }
                }
                FileType::Directory if top.as_ref().is_some_and(|top| origin.is(top)) => {
                    let what = "this is where the copy goes: it is not copied into itself";
                    self.meter.failed(&Problem::at(&origin.shown, what));
                }
                FileType::Directory => {
                    let entered = directory.enter(&name, (&origin.meta, self.how), is_inner);
                    let Ok(inner) = entered.map_err(|problem| self.meter.failed(&problem)) else {
                        continue;
                    };
                    if top.is_none() && origin.is(&inner) {
                        let what = "source and destination are the same directory";
                        return Err(Problem::at(&origin.shown, what));
                    }
                    top.get_or_insert_with(|| inner.clone());
                    finished.push((inner.clone(), origin.meta));
                    let listed = origin.children(&mut |child: Origin| {
                        let name = child.name.clone();
                        waiting.push((child, inner.clone(), name, true));
                        Ok(())
                    });
                    self.note(listed);
                }
                FileType::SymbolicLink => {
                    let made = origin
                        .target()
                        .and_then(|target| directory.make_link(&name, &target));
                    self.note(made);
                }
                _ => self.meter.failed(&origin.special()),
            }
        }
        Ok(())
    }
}

/// Copies files until there are no more.
fn work(jobs: &Mutex<Receiver<Job>>, shared: &Shared<'_>) {
    loop {
        let next = {
            let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.recv()
        };
        let Ok(job) = next else {
            return;
        };
        if interrupt::is_set() {
            shared.meter.failed(&Problem::Interrupted);
            continue;
        }
        if let Err(problem) = job.run(shared) {
            shared.meter.failed(&problem);
        }
    }
}
