//! `cargo xtask soak world`: hosts, applications, faults and attackers in virtual time (`sim/world`), with new seeds
//! until the time is over. A failure is shrunk, and printed in words with the command that repeats it.

use std::io::{IsTerminal, Write, stderr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use world::{Tape, Violation};
use xtask::shell::Shell;

use crate::failure::Failure;

const DAY: f64 = 86_400.0;

/// Options of the soak.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask soak world --hours 1\n  cargo xtask soak world --tape 0000f500…"
)]
pub(crate) struct Options {
    /// Time to run, in hours
    #[arg(long, default_value_t = 1.0)]
    hours: f64,
    /// First seed; default: drawn from the clock, and printed
    #[arg(long)]
    seed: Option<u64>,
    /// Number of seeds, instead of a time
    #[arg(long)]
    seeds: Option<u64>,
    /// Number of runs at a time; default: the number of processors
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Most runs to find a shorter tape that fails in the same way
    #[arg(long, default_value_t = 600)]
    shrink: u32,
    /// Run this tape alone, in hexadecimal digits, or from a file with them
    #[arg(long, value_name = "TAPE")]
    tape: Option<String>,
    /// File for the result, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/soak-world.json")]
    json: PathBuf,
}

/// Result of a soak.
#[derive(Debug, Serialize)]
struct Outcome {
    seed: u64,
    runs: u64,
    virtual_days: f64,
    calls: u64,
    seconds: f64,
    failure: Option<String>,
    tape: Option<String>,
}

/// Counters of all threads.
struct Tally {
    begun: Instant,
    runs: AtomicU64,
    virtual_seconds: AtomicU64,
    calls: AtomicU64,
    failed: Mutex<Option<(Tape, Violation)>>,
}

impl Tally {
    fn new() -> Self {
        Self {
            begun: Instant::now(),
            runs: AtomicU64::new(0),
            virtual_seconds: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            failed: Mutex::new(None),
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().is_ok_and(|failed| failed.is_some())
    }
}

/// Runs tapes until the time is over or one fails.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    if let Some(text) = &options.tape {
        return replay(text);
    }
    let seed = options.seed.unwrap_or_else(drawn);
    let jobs = options.jobs.map_or_else(processors, NonZeroUsize::get);
    println!("seed {seed}, {jobs} runs at a time");
    // Failures are reported below, with their tapes.
    std::panic::set_hook(Box::new(|_| {}));
    let tally = Tally::new();
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work(options, seed, &next, &tally));
        }
    });
    drop(std::panic::take_hook());
    let failed = tally.failed.into_inner().unwrap_or_default();
    let failed = failed.map(|(tape, violation)| shrunk(options, &tape, &violation));
    let outcome = Outcome {
        seed,
        runs: tally.runs.into_inner(),
        virtual_days: tally.virtual_seconds.into_inner() as f64 / DAY,
        calls: tally.calls.into_inner(),
        seconds: tally.begun.elapsed().as_secs_f64(),
        failure: failed.as_ref().map(|(_, violation)| violation.to_string()),
        tape: failed.as_ref().map(|(tape, _)| tape.to_string()),
    };
    println!(
        "{} runs, {:.1} days of virtual time, {} calls, {:.0} s",
        outcome.runs, outcome.virtual_days, outcome.calls, outcome.seconds
    );
    crate::bench::keep(shell, &options.json, &[outcome])?;
    failed.map_or(Ok(()), |(tape, violation)| Err(failure(&tape, &violation)))
}

/// Runs seeds until the time is over or a thread has found a failure.
fn work(options: &Options, seed: u64, next: &AtomicU64, tally: &Tally) {
    let span = Duration::from_secs_f64(options.hours.max(0.0) * 3_600.0);
    while !tally.has_failed() {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let is_over = options
            .seeds
            .map_or_else(|| tally.begun.elapsed() >= span, |seeds| number >= seeds);
        if is_over {
            return;
        }
        let tape = Tape::from_seed(seed.wrapping_add(number));
        match world::run(&tape) {
            Ok(report) => {
                tally.runs.fetch_add(1, Ordering::Relaxed);
                tally.calls.fetch_add(report.calls, Ordering::Relaxed);
                let seconds = report.time.as_secs_f64() as u64;
                let before = tally.virtual_seconds.fetch_add(seconds, Ordering::Relaxed);
                let days = (before + seconds) as f64 / DAY;
                progress(&format!(
                    "{} runs, {days:.1} days",
                    tally.runs.load(Ordering::Relaxed)
                ));
            }
            Err(violation) => {
                if let Ok(mut failed) = tally.failed.lock() {
                    failed.get_or_insert((tape, violation));
                }
            }
        }
    }
}

fn shrunk(options: &Options, tape: &Tape, violation: &Violation) -> (Tape, Violation) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut shown = |left: usize| {
        progress(&format!(
            "a failure of {left} steps; looking for a shorter one"
        ));
    };
    let shrunk = world::shrink(tape, violation, options.shrink, &mut shown);
    drop(std::panic::take_hook());
    shrunk
}

/// Runs one tape and prints it in words.
fn replay(text: &str) -> Result<(), Failure> {
    let content = std::fs::read_to_string(text);
    let tape: Tape = content
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|error| {
            Failure::Found(format!(
                "--tape: {error}; give the digits, or a file with them"
            ))
        })?;
    println!("{}", tape.describe());
    let report = world::run(&tape).map_err(|violation| failure(&tape, &violation))?;
    println!(
        "all promises were kept in {} and {} calls",
        report.time, report.calls
    );
    Ok(())
}

fn failure(tape: &Tape, violation: &Violation) -> Failure {
    Failure::Found(format!(
        "{violation}\n\n{}\n\nto repeat it: cargo xtask soak world --tape {tape}",
        tape.describe()
    ))
}

/// Shows a line of progress, if there is somebody to see it.
fn progress(text: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
        // A lost line of progress harms nothing.
        let _ = stderr().flush();
    }
}

/// Returns a seed that differs from one start to the next.
fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() * 1_000_000)
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
