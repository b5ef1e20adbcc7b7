//! Parallel jobs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `work` with each job and its number, a limited number at the same time; returns the results in the order of
/// the jobs.
pub(crate) fn each<J: Sync, R: Send>(
    jobs: &[J],
    at_once: usize,
    work: impl Fn(usize, &J) -> R + Sync,
) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..at_once.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = work(index, job);
                    let mut results = results
                        .lock()
                        .expect("no thread panics while it holds this");
                    results.push((index, result));
                }
            });
        }
    });
    let results = results.into_inner();
    let mut results = results.expect("no thread panics while it holds this");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
