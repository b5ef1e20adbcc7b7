//! Copies of whole trees, with many files at the same time.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::destination::Destination;
use super::job::{Job, Shared};
use super::meter::Meter;
use super::options::How;
use super::origin::Origin;
use super::walk::Walk;
use crate::interrupt;
use crate::nfs::problem::Problem;
use crate::nfs::session::Session;

/// Largest number of files that wait for a worker.
const QUEUE: usize = 1_024;

/// A copier of trees.
pub(super) struct Copier<'c> {
    pub(super) how: How,
    /// Largest number of files that are copied at the same time.
    pub(super) jobs: u16,
    pub(super) meter: &'c Meter,
    /// Connection on which copies at a server are read back.
    pub(super) reader: Option<Arc<Session>>,
}

impl Copier<'_> {
    /// Copies everything. Errors are reported at once, and the rest goes on.
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
                let walk = Walk {
                    how: self.how,
                    meter: self.meter,
                    jobs: &sender,
                    finished: &mut finished,
                    top: None,
                };
                self.meter.note(walk.run(Job {
                    origin: origin.clone(),
                    directory: directory.clone(),
                    name,
                }));
            }
            drop(sender);
        });
        if self.how.preserve && !interrupt::is_set() {
            for (directory, meta) in finished.iter().rev() {
                self.meter.note(directory.finish(meta, self.how));
            }
        }
        self.meter.outcome()
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
        shared.meter.note(job.run(shared));
    }
}
