//! `cargo xtask fuzz`: looks for inputs that break a target, guided by coverage, and keeps the corpora.
//!
//! The fuzzer is libFuzzer, in the program of `fuzz/targets`. The pinned toolchain builds it: what instruments the code
//! is a pass of LLVM that needs no nightly.

mod corpus;
mod program;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use program::{Program, Target};
use xtask::shell::{Failure, Shell};

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The targets; all if none is named.
    targets: Vec<String>,
    /// Time for each target, in seconds.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Time for all targets together, in hours, which they share.
    #[arg(long, value_name = "H", conflicts_with = "seconds")]
    hours: Option<f64>,
    /// Number of targets that run at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Keep in fuzz/corpus the fewest inputs that reach all code that any input has reached.
    #[arg(long, conflicts_with_all = ["seconds", "hours"])]
    minimize: bool,
    /// Measure the code that fuzz/corpus reaches; less than fuzz/coverage.txt says is a failure.
    #[arg(long, conflicts_with_all = ["seconds", "hours", "minimize"])]
    coverage: bool,
    /// Run one input of one target.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "hours", "minimize", "coverage"])]
    input: Option<PathBuf>,
}

/// Builds the program, and does with each target what the options say.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    // Before the build, in which a path would still be relative to this folder.
    let input = options.input.as_ref().map(std::path::absolute);
    let input = input.transpose().map_err(|source| Failure::Read {
        path: options.input.clone().unwrap_or_default(),
        source,
    })?;
    let shell = Shell::new(false);
    println!("building the targets, which takes minutes the first time");
    let program = Program::build(&shell)?;
    let targets = chosen(program.targets()?, &options.targets)?;
    if let Some(input) = input {
        let [target] = &targets[..] else {
            return Err(Failure::Found("name the one target of the input".into()));
        };
        return program.run_input(target, &input);
    }
    if options.minimize {
        return corpus::minimize(&program, &targets);
    }
    if options.coverage {
        return corpus::measure(&program, &targets);
    }
    let seconds = match options.hours {
        Some(hours) => hours * 3600.0 * options.jobs.max(1) as f64 / targets.len() as f64,
        None => options.seconds as f64,
    };
    fuzz(
        &program,
        targets,
        Duration::from_secs_f64(seconds),
        options.jobs,
    )
}

/// Returns the targets with these names, or all.
fn chosen(all: Vec<Target>, names: &[String]) -> Result<Vec<Target>, Failure> {
    let known = |name: &&String| all.iter().any(|target| target.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = all.iter().map(|target| target.name.as_str()).collect();
        let all = all.join(", ");
        return Err(Failure::Found(format!(
            "{unknown} is no target; there are {all}"
        )));
    }
    let is_chosen = |target: &Target| names.is_empty() || names.contains(&target.name);
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// Runs each target for a time, so many at once.
fn fuzz(
    program: &Program,
    targets: Vec<Target>,
    time: Duration,
    jobs: usize,
) -> Result<(), Failure> {
    let waiting = Mutex::new(VecDeque::from(targets));
    let findings = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = waiting.lock().expect("no panic holds it").pop_front();
            let Some(target) = next else {
                return;
            };
            if let Err(failure) = program.search(&target, time) {
                println!("{failure}");
                findings
                    .lock()
                    .expect("no panic holds it")
                    .push(target.name);
            }
        }
    };
    thread::scope(|scope| {
        (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work)));
    });
    let found = findings.into_inner().expect("no panic holds it");
    if found.is_empty() {
        return Ok(());
    }
    let found = found.join(", ");
    Err(Failure::Found(format!(
        "inputs break these targets: {found}"
    )))
}
