//! The searches: the world, the targets of the fuzzer, and ordinary tests.

use std::num::NonZeroUsize;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use planted::VARIABLE;
use serde::{Deserialize, Serialize};
use world::Tape;
use xtask::shell::{self, Shell};

use crate::failure::Failure;

/// Longest time of one run; a longer one counts as a hang.
const LONGEST: Duration = Duration::from_secs(100);
/// End of the exit status of `timeout` if it ended the program.
const TIMED_OUT: &str = " 124";
/// Longest virtual time of a world that is searched. Few are longer, and most of the processor time would go to those.
const SPAN: units::Duration = units::Duration::from_secs(3_600);

/// Result of a search.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Finding {
    /// Words of the oracle, and the seed of the run.
    pub(super) found_by: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) runs: u64,
    pub(super) seconds: f64,
}

/// A function that runs a seed; the error is the words of its oracle.
type Try = Box<dyn Fn(u64) -> Result<(), String> + Sync>;

/// Counters of all threads.
struct Tally {
    begun: Instant,
    next: AtomicU64,
    runs: AtomicU64,
    found: Mutex<Option<(u64, String)>>,
    /// Seed of each thread's present run and its beginning.
    present: Vec<Mutex<(u64, Instant)>>,
}

/// Runs a search and prints its [`Finding`]; ends the process.
pub(super) fn run(name: &str, first: u64, seeds: Option<u64>, seconds: u64) -> Result<(), Failure> {
    let search = of_name(name)?;
    let jobs = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let begun = Instant::now();
    let tally = Tally {
        begun,
        next: AtomicU64::new(first),
        runs: AtomicU64::new(0),
        found: Mutex::new(None),
        present: (0..jobs).map(|_| Mutex::new((first, begun))).collect(),
    };
    let is_over = |seed: u64| match seeds {
        Some(seeds) => seed - first >= seeds,
        None => begun.elapsed() >= Duration::from_secs(seconds),
    };
    // The oracles of targets are assertions.
    std::panic::set_hook(Box::new(|_| {}));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs)
            .map(|thread| {
                scope.spawn({
                    let (search, tally, is_over) = (&search, &tally, &is_over);
                    move || work(search, tally, is_over, thread)
                })
            })
            .collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(2));
            if let Some(seed) = tally.hung() {
                tally
                    .finding(Some((seed, format!("a run of more than {LONGEST:?}"))))
                    .print();
                // The thread that hangs cannot be ended alone.
                std::process::exit(0);
            }
        }
    });
    let found = tally.found.lock().ok().and_then(|found| found.clone());
    tally.finding(found).print();
    Ok(())
}

/// Runs seeds until the search is over or a thread has found something.
fn work(search: &Try, tally: &Tally, is_over: &(dyn Fn(u64) -> bool + Sync), thread: usize) {
    while tally.found.lock().is_ok_and(|found| found.is_none()) {
        let seed = tally.next.fetch_add(1, Ordering::Relaxed);
        if is_over(seed) {
            return;
        }
        if let Ok(mut present) = tally.present[thread].lock() {
            *present = (seed, Instant::now());
        }
        let result = search(seed);
        tally.runs.fetch_add(1, Ordering::Relaxed);
        if let (Err(text), Ok(mut found)) = (result, tally.found.lock()) {
            found.get_or_insert((seed, text));
        }
    }
}

impl Tally {
    /// Returns the seed of a run that takes too long.
    fn hung(&self) -> Option<u64> {
        let present = self
            .present
            .iter()
            .filter_map(|present| present.lock().ok());
        let mut hung = present.filter(|present| present.1.elapsed() > LONGEST);
        hung.next().map(|present| present.0)
    }

    fn finding(&self, found: Option<(u64, String)>) -> Finding {
        let (seed, found_by) = found.unzip();
        Finding {
            found_by,
            seed,
            runs: self.runs.load(Ordering::Relaxed),
            seconds: self.begun.elapsed().as_secs_f64(),
        }
    }
}

impl Finding {
    fn print(&self) {
        let line = serde_json::to_string(self).expect("numbers and words");
        println!("{line}");
    }
}

/// Returns the search with this name.
fn of_name(name: &str) -> Result<Try, Failure> {
    if name == "world" {
        return Ok(Box::new(|seed| {
            let tape = Tape::from_seed(seed);
            let is_short = tape.span() <= SPAN;
            let outcome = is_short.then(|| world::run(&tape));
            let outcome = outcome.map_or(Ok(()), |outcome| outcome.map(drop));
            outcome.map_err(|violation| first_line(&violation.to_string()))
        }));
    }
    let target = fuzz::TARGETS.iter().find(|known| known.name == name);
    let target = *target.ok_or_else(|| Failure::Found(format!("no search '{name}'")))?;
    Ok(Box::new(move |seed| {
        let bytes = fuzz::draw(target.name, seed);
        catch_unwind(|| (target.run)(&bytes)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            first_line(&text.unwrap_or_default())
        })
    }))
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(110)
        .collect()
}

/// Runs the tests of a package whose names contain `filter`, with a bug or without; one that fails is a finding.
///
/// # Errors
/// Returns an error if the tests do not build, which says nothing about the bug.
pub(super) fn tests(
    shell: &Shell,
    package: &str,
    filter: &str,
    bug: Option<&str>,
) -> Result<Finding, Failure> {
    // The tests of the program itself need the program, which has no planted bugs.
    let kind = if package == "lasthop" {
        "--bins"
    } else {
        "--tests"
    };
    let build = ["test", "--quiet", "--package", package, kind, "--no-run"];
    let run = ["test", "--quiet", "--package", package, kind, "--", filter];
    shell.run(shell.cargo(&build))?;
    let begun = Instant::now();
    let tests = shell.cargo(&run);
    // Some bugs make a test wait for ever.
    let mut command = Command::new("timeout");
    command.arg(LONGEST.as_secs().to_string());
    command.arg(tests.get_program()).args(tests.get_args());
    command.current_dir(&shell.root).env_remove(VARIABLE);
    if let Some(bug) = bug {
        command.env(VARIABLE, bug);
    }
    let found_by = shell.run(command).err().map(|failure| match &failure {
        shell::Failure::Exit { how, .. } if how.ends_with(TIMED_OUT) => {
            format!("a run of more than {LONGEST:?}")
        }
        shell::Failure::Exit { output, .. } => failed_test(output),
        _ => failure.to_string(),
    });
    Ok(Finding {
        seed: found_by.as_ref().map(|_| 0),
        found_by,
        runs: 1,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Returns the name of the first test that failed, and its message.
fn failed_test(output: &str) -> String {
    let mut lines = output.lines().skip_while(|line| !line.starts_with("---- "));
    let name = lines
        .next()
        .map_or("the build", |line| line.trim_matches(['-', ' ']));
    let mut rest = lines.skip_while(|line| !line.contains("panicked at"));
    let message = rest.nth(1).unwrap_or_default();
    first_line(&format!("{}: {message}", name.trim_end_matches(" stdout")))
}
