//! The progress of a copy: a bar on a terminal, and a summary at the end.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use runtime::files::{Connection, Event};
use serde_json::{Value, json};

use crate::bar::{bar, say};
use crate::nfs::problem::Problem;
use crate::nfs::text;

/// Time between two updates of the bar.
const TICK: Duration = Duration::from_millis(200);
/// Number of ticks over which the rate is computed.
const TICKS: usize = 15;

#[derive(Default)]
struct Counted {
    bytes: AtomicU64,
    resumed: AtomicU64,
    files: AtomicU64,
    expected_bytes: AtomicU64,
    expected_files: AtomicU64,
    ended: AtomicBool,
}

/// Errors so far.
#[derive(Default)]
struct Wrong {
    failures: u64,
    last: Option<String>,
    interrupted: bool,
    left: Vec<String>,
}

/// Counters of a copy, with their display.
pub(super) struct Meter {
    counted: Arc<Counted>,
    wrong: Mutex<Wrong>,
    watched: Arc<Mutex<Vec<Connection>>>,
    bar: ProgressBar,
    quiet: bool,
    begun: Instant,
    ended: Mutex<Option<Duration>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meter {
    /// Creates a meter, which is visible if standard error is a terminal.
    pub(super) fn start(quiet: bool) -> Self {
        let is_seen = !quiet && std::io::stderr().is_terminal();
        let meter = Self {
            counted: Arc::default(),
            wrong: Mutex::default(),
            watched: Arc::default(),
            bar: bar("{bar:24} {bytes:>10} of {total_bytes:<10} {msg}", is_seen),
            quiet,
            begun: Instant::now(),
            ended: Mutex::new(None),
        };
        if is_seen {
            meter.draw();
        }
        meter
    }

    /// Starts a thread that draws the bar until the end.
    fn draw(&self) {
        let (counted, watched) = (Arc::clone(&self.counted), Arc::clone(&self.watched));
        let (bar, begun) = (self.bar.clone(), self.begun);
        let draw = move || {
            // Bytes at the last ticks: the rate is the current one, not the mean since the beginning.
            let mut ticks = VecDeque::from([(begun, 0)]);
            while !counted.ended.load(Ordering::Relaxed) {
                let bytes = counted.bytes.load(Ordering::Relaxed);
                let resumed = counted.resumed.load(Ordering::Relaxed);
                bar.set_length(counted.expected_bytes.load(Ordering::Relaxed));
                bar.set_position(bytes + resumed);
                if ticks.len() > TICKS {
                    ticks.pop_front();
                }
                let (since, before) = ticks.front().copied().unwrap_or((begun, 0));
                bar.set_message(message(bytes - before, since.elapsed(), &lock(&watched)));
                ticks.push_back((Instant::now(), bytes));
                std::thread::sleep(TICK);
            }
        };
        // Without a thread only the bar is missing.
        let _ = std::thread::Builder::new().name("meter".into()).spawn(draw);
    }

    /// Reports when the server of a connection is silent, and counts its calls.
    pub(super) fn watch(&self, connection: &Connection) {
        lock(&self.watched).push(connection.clone());
        if self.quiet {
            return;
        }
        let (bar, server) = (self.bar.clone(), connection.status().server);
        connection.observe(move |event| {
            let line = match event {
                // The bar shows it itself.
                Event::Silent { .. } if !bar.is_hidden() => return,
                Event::Silent { .. } => format!("server {server} is silent, retrying"),
                Event::Answering { after } => {
                    format!(
                        "server {server} answers again after {:.1} s",
                        after.as_secs_f64()
                    )
                }
            };
            say(&bar, &line);
        });
    }

    /// Counts a file to copy.
    pub(super) fn found(&self, size: u64) {
        self.counted.expected_files.fetch_add(1, Ordering::Relaxed);
        self.counted
            .expected_bytes
            .fetch_add(size, Ordering::Relaxed);
    }

    /// Corrects the size of a file that has changed since it was found.
    pub(super) fn expect(&self, found: u64, size: u64) {
        let expected = &self.counted.expected_bytes;
        expected.fetch_add(size.wrapping_sub(found), Ordering::Relaxed);
    }

    /// Counts bytes that were present already.
    pub(super) fn resume(&self, bytes: u64) {
        self.counted.resumed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts copied bytes.
    pub(super) fn advance(&self, bytes: u64) {
        self.counted.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a complete file.
    pub(super) fn file_done(&self) {
        self.counted.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes a part of a file that can be resumed.
    pub(super) fn left(&self, shown: &str) {
        lock(&self.wrong).left.push(shown.to_owned());
    }

    /// Counts the error of a result, if it is one.
    pub(super) fn note(&self, result: Result<(), Problem>) {
        if let Err(problem) = result {
            self.failed(&problem);
        }
    }

    /// Counts an error.
    pub(super) fn failed(&self, problem: &Problem) {
        let mut wrong = lock(&self.wrong);
        if let Problem::Interrupted = problem {
            wrong.interrupted = true;
            return;
        }
        wrong.failures += 1;
        // The last one is reported when the command ends.
        if let Some(before) = wrong.last.replace(problem.to_string()) {
            say(&self.bar, &format!("error: {before}"));
        }
    }

    /// Ends the display and prints the summary.
    pub(super) fn end(&self) {
        let elapsed = self.begun.elapsed();
        *lock(&self.ended) = Some(elapsed);
        self.counted.ended.store(true, Ordering::Relaxed);
        if self.bar.is_hidden() {
            return;
        }
        self.bar.finish_and_clear();
        let bytes = self.counted.bytes.load(Ordering::Relaxed);
        let files = self.counted.files.load(Ordering::Relaxed);
        let many = if files == 1 { "" } else { "s" };
        eprintln!(
            "{files} file{many}, {} in {:.1} s, {}",
            text::size(bytes),
            elapsed.as_secs_f64(),
            message(bytes, elapsed, &lock(&self.watched)),
        );
    }

    /// Returns the summary, for programs.
    pub(super) fn json(&self) -> Value {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let elapsed = lock(&self.ended).unwrap_or_else(|| self.begun.elapsed());
        let wrong = lock(&self.wrong);
        let connections: Vec<_> = lock(&self.watched)
            .iter()
            .map(|connection| {
                let status = connection.status();
                json!({
                    "server": status.server.to_string(),
                    "protocol": status.protocol.to_string(),
                    "calls": status.calls,
                    "reopened": status.reopened,
                })
            })
            .collect();
        json!({
            "files": load(&self.counted.files),
            "bytes": load(&self.counted.bytes),
            "resumed_bytes": load(&self.counted.resumed),
            "failures": wrong.failures,
            "seconds": elapsed.as_secs_f64(),
            "connections": connections,
        })
    }

    /// Returns the result of the command.
    pub(super) fn outcome(&self) -> Result<(), Problem> {
        let wrong = lock(&self.wrong);
        for shown in &wrong.left {
            let line = format!("{shown} is not whole; go on with it by --resume");
            say(&self.bar, &line);
        }
        match (&wrong.last, wrong.interrupted) {
            (Some(last), true) => {
                say(&self.bar, &format!("error: {last}"));
                Err(Problem::Interrupted)
            }
            (None, true) => Err(Problem::Interrupted),
            (Some(last), false) if wrong.failures == 1 => Err(Problem::Broken(last.clone())),
            (Some(last), false) => {
                say(&self.bar, &format!("error: {last}"));
                let failures = wrong.failures;
                Err(Problem::Broken(format!(
                    "{failures} files or directories were not copied"
                )))
            }
            (None, false) => Ok(()),
        }
    }
}

/// Returns rate and retransmissions, and a note if a server is silent.
fn message(bytes: u64, elapsed: Duration, connections: &[Connection]) -> String {
    let rate = bytes as f64 / elapsed.as_secs_f64().max(1e-3);
    let statuses: Vec<_> = connections.iter().map(Connection::status).collect();
    let repeated: u64 = statuses
        .iter()
        .map(|status| status.calls.repeated.total())
        .sum();
    let mut message = format!("{}/s", text::size(rate as u64));
    if repeated > 0 {
        let _ = write!(message, ", {repeated} repeated");
    }
    let silent = statuses.iter().filter_map(|status| status.silent_for).max();
    if let Some(silent) = silent {
        let seconds = silent.as_millis() / 1_000;
        let _ = write!(message, ", server silent for {seconds} s, retrying");
    }
    message
}
