//! The processor time of a mobile host's work, although all hosts share one kernel.
//!
//! The kernel counts, for each task, the nanoseconds of its own code and of the work on its behalf: system calls, and
//! the soft interrupts that these raise. So all work of the mobile host is moved into tasks of its own:
//!
//! - its daemon and its application;
//! - the work for arriving packets, up to their socket: the mobile host's cable hands them to a kernel thread (threaded
//!   NAPI) and not to a soft interrupt on the processor of the sender;
//! - the work for leaving packets, up to the far end of the cable, is part of the system call, or of the thread above.
//!
//! These tasks have a processor to themselves among all processes of the bench; the emulator, the gateway, the fixed
//! host and the bench have the others. The far end of the cable has such a thread too, or the mobile host would pay for
//! the work after it. Other processes may use the mobile host's processor: their time is not counted, but may cause
//! waiting.
//!
//! Interrupts are left out that occur while none of these tasks runs: timers of the kernel's TCP, with the
//! acknowledgements that they send, and the cost of waking a task by a timer.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::failure::Failure;

/// A part of the mobile host's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Daemon,
    Application,
    /// The kernel's work for arriving packets.
    Arrival,
}

const PARTS: usize = 3;

/// Work of each [`Part`]: seconds of processor time, and number of times that a task continued after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(super) struct Work {
    pub(super) seconds: [f64; PARTS],
    pub(super) wake_ups: [f64; PARTS],
}

impl Work {
    pub(super) fn seconds_of(&self, part: Part) -> f64 {
        self.seconds[part as usize]
    }

    pub(super) fn wake_ups_of(&self, part: Part) -> f64 {
        self.wake_ups[part as usize]
    }

    pub(super) fn all_seconds(&self) -> f64 {
        self.seconds.iter().sum()
    }

    pub(super) fn all_wake_ups(&self) -> f64 {
        self.wake_ups.iter().sum()
    }

    /// Returns the work beyond `times` the `background`.
    pub(super) fn beyond(&self, background: &Self, times: f64) -> Self {
        let less = |of: fn(&Self) -> &[f64; PARTS]| {
            std::array::from_fn(|part| of(self)[part] - times * of(background)[part])
        };
        Self {
            seconds: less(|work| &work.seconds),
            wake_ups: less(|work| &work.wake_ups),
        }
    }

    /// Returns the sum of both, times `times`.
    pub(super) fn joined(&self, other: &Self, times: f64) -> Self {
        let nothing = Self::default();
        nothing.beyond(self, -times).beyond(other, -times)
    }
}

/// The tasks of a mobile host: processes with all their threads, and a thread of the kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tasks {
    pub(super) daemon: Option<u32>,
    pub(super) application: Option<u32>,
    pub(super) arrival: Option<u32>,
}

/// Work of each task so far, by its [`Part`].
#[derive(Debug, Default)]
pub(super) struct Moment([BTreeMap<PathBuf, (f64, f64)>; PARTS]);

impl Tasks {
    /// Returns the work so far.
    pub(super) fn now(&self) -> Result<Moment, Failure> {
        let mut moment = Moment::default();
        let parts = [
            (Part::Daemon, self.daemon),
            (Part::Application, self.application),
            (Part::Arrival, self.arrival),
        ];
        for (part, process) in parts {
            let Some(process) = process else { continue };
            let folder = PathBuf::from(format!("/proc/{process}/task"));
            let threads = fs::read_dir(&folder);
            let threads = threads.map_err(rig::Failure::file("read", &folder))?;
            for thread in threads.filter_map(Result::ok) {
                let path = thread.path();
                // A task that has just ended has no counters any more.
                if let Some(used) = used(&path) {
                    moment.0[part as usize].insert(path, used);
                }
            }
        }
        Ok(moment)
    }
}

/// Returns the seconds that a task has run, and the number of its waits.
fn used(task: &std::path::Path) -> Option<(f64, f64)> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string(task.join("status")).ok()?;
    let waits = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    Some((nanoseconds / 1e9, waits.trim().parse().ok()?))
}

impl Moment {
    /// Returns the work from `earlier` to here. A thread that ended in between is not counted.
    pub(super) fn since(&self, earlier: &Self) -> Work {
        let mut work = Work::default();
        for (part, tasks) in self.0.iter().enumerate() {
            for (task, (seconds, waits)) in tasks {
                let (before, waits_before) = earlier.0[part].get(task).copied().unwrap_or_default();
                work.seconds[part] += seconds - before;
                work.wake_ups[part] += waits - waits_before;
            }
        }
        work
    }
}

/// Returns the kernel thread that receives the packets of this interface, once it exists.
pub(super) fn thread_of(interface: &str) -> Option<u32> {
    let begins = format!("napi/{interface}-");
    let processes = fs::read_dir("/proc").ok()?;
    let names = processes.filter_map(Result::ok).filter_map(|process| {
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        let id = process.file_name().to_str()?.parse().ok()?;
        name.starts_with(&begins).then_some(id)
    });
    let found: Vec<u32> = names.collect();
    // An interface with several queues has several threads.
    (found.len() == 1).then(|| found[0])
}

#[cfg(test)]
mod tests {
    use super::{Moment, Part, Work};

    fn assert_alike<const N: usize>(found: [f64; N], expected: [f64; N]) {
        let differ = found
            .iter()
            .zip(expected)
            .any(|(found, expected)| (found - expected).abs() > 1e-9);
        assert!(!differ, "{found:?}, not {expected:?}");
    }

    #[test]
    fn what_was_used_is_a_difference_and_new_threads_count_whole() {
        let moment = |tasks: &[(&str, (f64, f64))]| {
            let mut moment = Moment::default();
            moment.0[0] = tasks
                .iter()
                .map(|(name, used)| (name.into(), *used))
                .collect();
            moment
        };
        let earlier = moment(&[("1", (1.0, 10.0)), ("gone", (9.0, 9.0))]);
        let later = moment(&[("1", (1.5, 12.0)), ("2", (0.25, 1.0))]);
        let work = later.since(&earlier);
        assert_alike([work.seconds_of(Part::Daemon)], [0.75]);
        assert_alike([work.wake_ups_of(Part::Daemon)], [3.0]);
        assert_alike([work.all_seconds()], [0.75]);
    }

    #[test]
    fn the_background_is_taken_off_each_part() {
        let work = Work {
            seconds: [1.0, 2.0, 3.0],
            wake_ups: [10.0, 0.0, 5.0],
        };
        let background = Work {
            seconds: [0.5, 0.0, 1.0],
            wake_ups: [1.0, 0.0, 0.0],
        };
        let beyond = work.beyond(&background, 2.0);
        assert_alike(beyond.seconds, [0.0, 2.0, 1.0]);
        assert_alike(beyond.wake_ups, [8.0, 0.0, 5.0]);
        assert_alike(work.joined(&background, 0.5).seconds, [0.75, 1.0, 2.0]);
    }
}
