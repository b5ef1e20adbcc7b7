//! Child processes, which end with this one.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use edges::namespace::{Namespace, NamespaceError};
use edges::process::end_with_parent;
use rustix::process::{Pid, Signal, kill_process_group};
use units::{Bytes, Duration};

use crate::Failure;

/// Time between checks of a condition.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);
/// Time that a process may take to end after a request.
const ENDING: std::time::Duration = std::time::Duration::from_secs(30);

/// A process, in a group with its own children; all are killed when this is dropped, or when our process ends.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
    /// Position in the log at which its own output begins.
    log_start: u64,
}

/// Resources used by a process and its children.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// User and system time.
    pub processor: Duration,
    /// User time.
    pub user: Duration,
    /// Largest resident memory of one of them.
    pub memory_peak: Bytes,
}

impl Usage {
    /// Returns the usage of both together: the sum of the times, and the larger peak.
    pub fn and(self, other: Self) -> Self {
        Self {
            processor: self.processor + other.processor,
            user: self.user + other.user,
            memory_peak: self.memory_peak.max(other.memory_peak),
        }
    }

    /// Returns the times since an earlier usage, and the peak so far.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            processor: self.processor.saturating_sub(earlier.processor),
            user: self.user.saturating_sub(earlier.user),
            memory_peak: self.memory_peak,
        }
    }
}

impl Process {
    /// Starts `command` on a host, or here. Its standard error is appended to `NAME.log` in `folder`.
    pub fn start(
        mut command: Command,
        name: &str,
        folder: &Path,
        host: Option<&Namespace>,
    ) -> Result<Self, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self::with_streams(command, name, folder, host)
    }

    /// Starts `command` with the standard input and output that it has.
    pub fn with_streams(
        mut command: Command,
        name: &str,
        folder: &Path,
        host: Option<&Namespace>,
    ) -> Result<Self, Failure> {
        let log = folder.join(format!("{name}.log"));
        let mut options = File::options();
        let file = options.create(true).append(true).open(&log);
        let file = file.map_err(Failure::file("write", &log))?;
        let log_start = file.metadata().map_or(0, |metadata| metadata.len());
        command.stderr(file).process_group(0);
        end_with_parent(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = launch(command, host.cloned());
        let child = child.map_err(|error| {
            Failure::Found(format!("the {name} cannot start `{program}`: {error}"))
        })?;
        Ok(Self {
            child,
            name: name.into(),
            log,
            log_start,
        })
    }

    /// Returns its end of the pipes that its command had for standard input and output; each is there once.
    pub fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>) {
        (self.child.stdin.take(), self.child.stdout.take())
    }

    /// Returns its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to its group.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    /// Requests its end (SIGTERM), and waits for it.
    ///
    /// # Errors
    /// If it does not end.
    pub fn end(&mut self) -> Result<ExitStatus, Failure> {
        self.signal(Signal::TERM);
        let what = format!("the {} ends", self.name);
        wait(&what, ENDING, || self.has_ended())?;
        self.wait()
    }

    /// Waits for its end without a timeout.
    pub fn wait(&mut self) -> Result<ExitStatus, Failure> {
        let status = self.child.wait();
        status.map_err(|error| Failure::Found(format!("the {}: {error}", self.name)))
    }

    /// Kills it and its children, if they still run.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns true if it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns an error with its last output if it has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        if !self.has_ended() {
            return Ok(());
        }
        let words = self.words();
        let words = words.trim().strip_prefix("error: ").unwrap_or(words.trim());
        Err(Failure::Found(format!(
            "the {} has ended: {words}",
            self.name
        )))
    }

    /// Returns everything that it has written to its standard error.
    pub fn words(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let own = text.get(self.log_start as usize..).unwrap_or_default();
        String::from_utf8_lossy(own).into_owned()
    }

    /// Returns the resources that its group has used so far.
    pub fn usage(&self) -> Usage {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter_map(|process| usage_in_group(&process.path(), self.id()))
            .fold(Usage::default(), Usage::and)
    }

    /// Returns the memory of the process itself: now (`VmRSS` in proc(5)), or the peak so far (`VmHWM`).
    pub fn memory(&self, field: &str) -> Option<Bytes> {
        memory(Path::new(&format!("/proc/{}", self.id())), field)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a field in kB of a process from `status` of proc(5).
pub(crate) fn memory(process: &Path, field: &str) -> Option<Bytes> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let of_field = |line: &str| {
        line.strip_prefix(field)?
            .strip_prefix(':')
            .map(str::to_owned)
    };
    let value = status.lines().find_map(of_field)?;
    let kibibytes = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes::kibi(kibibytes))
}

/// Returns the usage of the process in this folder of proc(5), if it belongs to `group`.
fn usage_in_group(process: &Path, group: u32) -> Option<Usage> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    let fields: Vec<_> = text.rsplit(')').next()?.split_whitespace().collect();
    // Fields are counted from 1; the name, which may contain blanks, is the second.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    if field(5)? != u64::from(group) {
        return None;
    }
    let time = |ticks| {
        let a_second = rustix::param::clock_ticks_per_second();
        Duration::from_secs(1).scaled(ticks, a_second)
    };
    let (user, system) = (field(14)?, field(15)?);
    Some(Usage {
        processor: time(user + system),
        user: time(user),
        memory_peak: memory(process, "VmHWM").unwrap_or_default(),
    })
}

/// A command to start, its host, and the channel for the started process.
type Request = (
    Command,
    Option<Namespace>,
    Sender<Result<Child, NamespaceError>>,
);

/// Runs a command to its end, on a host if one is given.
pub(crate) fn output(command: &mut Command, host: Option<&Namespace>) -> Result<Output, Failure> {
    let output = match host {
        Some(host) => host.run(|| command.output())?,
        None => command.output(),
    };
    output.map_err(|source| Failure::Start {
        command: format!("{command:?}"),
        source,
    })
}

/// Runs a command to its end, on a host if one is given; returns its standard output.
///
/// # Errors
/// If it cannot be started, or fails.
pub fn run(command: &mut Command, host: Option<&Namespace>) -> Result<String, Failure> {
    let output = output(command, host)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into());
    }
    Err(Failure::Exit {
        command: format!("{command:?}"),
        how: output.status.to_string(),
        output: String::from_utf8_lossy(&output.stderr).into(),
    })
}

/// Starts a command. A process ends with the thread that started it, so one permanent thread starts them all.
fn launch(command: Command, host: Option<Namespace>) -> Result<Child, NamespaceError> {
    static STARTER: OnceLock<Sender<Request>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, requests) = channel::<Request>();
        thread::spawn(move || {
            for (command, host, answer) in requests {
                // The requester may be gone; then the process is killed when it is dropped.
                let _ = answer.send(start(command, host));
            }
        });
        sender
    });
    let (answer, started) = channel();
    let gone = "the thread that starts processes never ends";
    starter.send((command, host, answer)).expect(gone);
    started.recv().expect(gone)
}

fn start(mut command: Command, host: Option<Namespace>) -> Result<Child, NamespaceError> {
    match host {
        Some(host) => host.spawn(command),
        None => command.spawn().map_err(|source| NamespaceError::Failed {
            operation: "start it".into(),
            source,
        }),
    }
}

/// Waits until `done` returns true.
///
/// # Errors
/// If that takes longer than `patience`.
pub fn wait(
    what: &str,
    patience: std::time::Duration,
    mut done: impl FnMut() -> bool,
) -> Result<(), Failure> {
    let begun = std::time::Instant::now();
    while !done() {
        if begun.elapsed() > patience {
            let seconds = patience.as_secs();
            return Err(Failure::Found(format!("{what}: not within {seconds} s")));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
