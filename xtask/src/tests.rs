//! The step that runs the workspace's tests and counts them.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use serde::Deserialize;

use crate::outcome::Outcome;
use xtask::shell::{Failure, Shell};

#[cfg(test)]
mod test;

/// Folders of the crates whose tests use the kernel, in real time.
const LIVE: [&str; 2] = ["app", "live"];

/// Variable with the first seed of the new worlds (`sim/world`).
const SEED: &str = "WORLD_SEED";

/// Runs every test, even after one has failed.
///
/// The dev profile is the faster one here: release links with LTO, which costs more than the tests. Live tests wait
/// most of their time, so the others run beside them, with the processor time that they leave.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, Failure> {
    let seed = world_seed(shell);
    let built = shell.run(shell.cargo(&[
        "test",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]))?;
    let (live, others): (Vec<_>, Vec<_>) = binaries(&built).into_iter().partition(|binary| {
        LIVE.iter()
            .any(|name| binary.folder.starts_with(shell.root.join(name)))
    });
    let live = live.iter().map(Binary::command).collect();
    let background = others.iter().map(Binary::in_the_background);
    let mut background: Vec<_> = background.map(|command| with_seed(command, seed)).collect();
    background.push(shell.cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]));
    let (live, others) = thread::scope(|scope| {
        let others = scope.spawn(|| Run::of(shell, background));
        (Run::of(shell, live), others.join())
    });
    let (live, others) = (live?, others.unwrap_or_else(|panic| resume_unwind(panic))?);
    let mut outcome = live.and(others).outcome()?;
    outcome.note = format!("{}, worlds of {SEED}={seed}", outcome.note);
    Ok(outcome)
}

/// Returns the first seed of the worlds that are new in this run: the one that is set, or one that the commit decides.
/// So each commit is tried in other worlds, and a commit that has passed passes again. A test that fails prints its own
/// seed, and the command that repeats it.
fn world_seed(shell: &Shell) -> u64 {
    let set = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let of_commit = || {
        let mut git = Command::new("git");
        git.current_dir(&shell.root)
            .args(["rev-parse", "--short=8", "HEAD"]);
        let name = Shell::quiet(&shell.root).run(git).ok()?;
        u64::from_str_radix(name.trim(), 16).ok()
    };
    set.or_else(of_commit).unwrap_or_default()
}

fn with_seed(mut command: Command, seed: u64) -> Command {
    command.env(SEED, seed.to_string());
    command
}

/// A program that cargo built for tests.
#[derive(Debug, PartialEq, Eq)]
struct Binary {
    program: PathBuf,
    /// The folder of its crate, in which it runs.
    folder: PathBuf,
}

impl Binary {
    /// Returns the binary that a message of cargo is about, if it is about one of tests.
    fn of(message: &str) -> Option<Self> {
        let message: Message = serde_json::from_str(message).ok()?;
        let is_test = message.profile?.test;
        let folder = message.manifest_path?.parent()?.into();
        let program = message.executable.filter(|_| is_test)?;
        Some(Self { program, folder })
    }

    fn command(&self) -> Command {
        self.in_its_folder(Command::new(&self.program))
    }

    /// Returns a command that takes the processor time that other programs leave.
    fn in_the_background(&self) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(&self.program);
        self.in_its_folder(command)
    }

    /// Completes a command as `cargo test` would.
    fn in_its_folder(&self, mut command: Command) -> Command {
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// Returns the binaries that are named in what cargo printed.
fn binaries(built: &str) -> Vec<Binary> {
    built.lines().filter_map(Binary::of).collect()
}

/// The parts of a message of `cargo --message-format=json` that name a binary.
#[derive(Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// What some binaries printed, and which of them failed.
#[derive(Debug, Default)]
struct Run {
    output: String,
    failed: Vec<(String, String)>,
}

impl Run {
    /// Runs these commands one after the other, also after one has failed.
    fn of(shell: &Shell, commands: Vec<Command>) -> Result<Self, Failure> {
        let mut run = Self::default();
        for command in commands {
            run.add(shell.run(command))?;
        }
        Ok(run)
    }

    /// Adds the result of one more binary.
    fn add(&mut self, result: Result<String, Failure>) -> Result<(), Failure> {
        match result {
            Ok(output) => self.output.push_str(&output),
            Err(Failure::Exit {
                command,
                how,
                output,
            }) => {
                self.output.push_str(&output);
                self.failed.push((command, how));
            }
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    fn and(mut self, other: Self) -> Self {
        self.output.push_str(&other.output);
        self.failed.extend(other.failed);
        self
    }

    fn outcome(mut self) -> Result<Outcome, Failure> {
        let count = Count::of(&self.output);
        let Some((command, how)) = self.failed.pop() else {
            return passed(&count);
        };
        let Count { passed, failed, .. } = count;
        let names = failed_tests(&self.output);
        let output = self.output;
        Err(Failure::Exit {
            command,
            how,
            output: format!("{output}\n{names}{passed} passed, {failed} failed\n"),
        })
    }
}

/// Returns the outcome of a run without failures; a run without tests is an error.
fn passed(count: &Count) -> Result<Outcome, Failure> {
    if count.passed == 0 {
        return Err(Failure::Found("cargo test ran no test".into()));
    }
    let note = match count.ignored {
        0 => format!("{} tests", count.passed),
        ignored => format!("{} tests, {ignored} ignored", count.passed),
    };
    Ok(Outcome {
        note,
        tests_passed: count.passed,
    })
}

/// Returns the lines of the tests that failed.
fn failed_tests(output: &str) -> String {
    let failed = |line: &&str| line.starts_with("test ") && line.ends_with(" ... FAILED");
    output
        .lines()
        .filter(failed)
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// Numbers of tests by their results.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Count {
    /// Returns the sum of all result lines of cargo in this output.
    fn of(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output
            .lines()
            .filter(|line| line.starts_with("test result: "))
        {
            sum.passed += before(line, " passed;");
            sum.failed += before(line, " failed;");
            sum.ignored += before(line, " ignored;");
        }
        sum
    }
}

/// Returns the number directly before this word, or zero.
fn before(line: &str, word: &str) -> u64 {
    line.split_once(word)
        .and_then(|(left, _)| left.rsplit(' ').next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
