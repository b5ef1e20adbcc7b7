//! A process beside the demo's own, that ends with it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use edges::clock;
use edges::namespace::Namespace;
use edges::process::end_with_parent;
use rustix::process::{Pid, Signal, kill_process_group};
use units::{Bytes, Duration};

use super::error::DemoError;

/// How long a process may take to begin or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// A process, in a group with those that it starts; all are killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    name: String,
    /// What it says goes here.
    log: PathBuf,
}

/// What a process and those that it started have used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) processor: Duration,
    /// The most memory that one of them ever had resident.
    pub(crate) memory_peak: Bytes,
}

impl Usage {
    /// Both together: times add up, of the peaks the higher one stands.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            processor: self.processor + other.processor,
            memory_peak: self.memory_peak.max(other.memory_peak),
        }
    }
}

impl Process {
    /// Starts `command` on `host`, or where we are; `name` and `folder` say where its words go.
    pub(crate) fn start(
        mut command: Command,
        name: &str,
        folder: &Path,
        host: Option<&Namespace>,
    ) -> Result<Self, DemoError> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).map_err(DemoError::failed("make a log file"))?;
        command.stderr(Stdio::from(file)).process_group(0);
        end_with_parent(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        let not_started = |error: &dyn std::fmt::Display| {
            DemoError::Child(format!("the {name} cannot start `{program}`: {error}"))
        };
        let child = match host {
            Some(host) => host.spawn(command).map_err(|error| not_started(&error))?,
            None => command.spawn().map_err(|error| not_started(&error))?,
        };
        Ok(Self {
            child,
            name: name.into(),
            log,
        })
    }

    /// Ends it the gentle way.
    pub(crate) fn end(&mut self) -> Result<(), DemoError> {
        self.signal(Signal::TERM);
        let deadline = clock::monotonic() + PATIENCE;
        while !self.has_ended() {
            if clock::monotonic() > deadline {
                return Err(DemoError::Child(format!("the {} does not end", self.name)));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// An error with its last words, if it has ended of itself.
    pub(crate) fn check(&mut self) -> Result<(), DemoError> {
        if !self.has_ended() {
            return Ok(());
        }
        let words = fs::read_to_string(&self.log).unwrap_or_default();
        let words = words.trim().strip_prefix("error: ").unwrap_or(words.trim());
        Err(DemoError::Child(format!(
            "the {} has ended: {words}",
            self.name
        )))
    }

    /// What its group has used so far.
    pub(crate) fn usage(&self) -> Usage {
        let Ok(processes) = fs::read_dir("/proc") else {
            return Usage::default();
        };
        processes
            .flatten()
            .filter_map(|process| usage_in_group(&process.path(), self.child.id()))
            .fold(Usage::default(), Usage::and)
    }
}

/// What the process of this folder of proc(5) has used, if it belongs to `group`.
fn usage_in_group(process: &Path, group: u32) -> Option<Usage> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    let fields: Vec<_> = text.rsplit(')').next()?.split_whitespace().collect();
    // Fields are counted from 1; the name, which may hold blanks, is the second.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    if field(5)? != u64::from(group) {
        return None;
    }
    let ticks = field(14)? + field(15)?;
    let status = fs::read_to_string(process.join("status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok());
    Some(Usage {
        processor: Duration::from_secs(1).scaled(ticks, rustix::param::clock_ticks_per_second()),
        memory_peak: Bytes::kibi(peak.unwrap_or(0)),
    })
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
