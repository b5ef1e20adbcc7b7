//! Runs of cargo-mutants.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::mutants::copy::Copy;
use xtask::shell::{Failure, Shell};

/// Version of cargo-mutants whose files and options we know.
const RELEASE: &str = "27.1.0";

/// Memory of one program, in bytes: some mutants allocate without end.
const MEMORY: u64 = 6 << 30;

/// The time limit of one run of tests: so many times the time without a mutant, and at least this.
const TIMES: u32 = 4;
const LEAST_LIMIT: Duration = Duration::from_mins(1);

/// Exit codes of cargo-mutants: all are caught, some live, some ran out of time.
const NORMAL: [i32; 3] = [0, 2, 3];

/// Returns an error with the remedy if cargo-mutants is missing.
pub(super) fn installed(shell: &Shell) -> Result<(), Failure> {
    if shell.run(shell.cargo(&["mutants", "--version"])).is_ok() {
        return Ok(());
    }
    Err(Failure::Found(format!(
        "cargo-mutants is not installed; to install it: cargo install --locked cargo-mutants --version {RELEASE}"
    )))
}

/// cargo-mutants, in a copy of the repository.
pub(super) struct Tool {
    pub(super) copy: Copy,
    /// The folder of builds and of the tool's own files.
    pub(super) place: PathBuf,
}

/// A mutant, as the tool lists it.
#[derive(Deserialize)]
struct Mutant {
    name: String,
}

/// The names of the mutants with each result.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) caught: Vec<String>,
    /// No test had failed when the time was over.
    pub(super) timed_out: Vec<String>,
    pub(super) missed: Vec<String>,
    /// These do not compile.
    pub(super) unviable: Vec<String>,
}

/// The file in which the tool keeps its results.
#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
    /// What the build and the tests printed, relative to the folder of the results.
    log_path: PathBuf,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Mutant),
}

#[derive(Deserialize)]
enum Summary {
    Success,
    Failure,
    CaughtMutant,
    MissedMutant,
    Unviable,
    Timeout,
}

impl Tool {
    /// Returns the names of all mutants of a crate.
    pub(super) fn list(&self, package: &str) -> Result<Vec<String>, Failure> {
        let shell = Shell::quiet(&self.copy.root);
        let list =
            shell.run(shell.cargo(&["mutants", "--list", "--json", "--package", package]))?;
        let mutants: Vec<Mutant> = parse(&list)?;
        Ok(mutants.into_iter().map(|mutant| mutant.name).collect())
    }

    /// Tries mutants of a crate with the tests of one crate. The tool shows its own progress.
    pub(super) fn test(
        &self,
        package: &str,
        tests: &str,
        mutants: &[String],
    ) -> Result<Found, Failure> {
        let folder = self.place.join(format!("{package}-by-{tests}"));
        fs::create_dir_all(&folder).map_err(|source| Failure::Write {
            path: folder.clone(),
            source,
        })?;
        let patch = folder.join("lines.diff");
        // The tool tries deleted fields whether or not their names match, but in these lines only.
        let written = lines_of(&self.copy.root, mutants).and_then(|text| fs::write(&patch, text));
        written.map_err(|source| Failure::Write {
            path: patch.clone(),
            source,
        })?;
        let limit = self.limit(tests)?.as_secs().to_string();
        let mut command = self.bounded(&["mutants", "--package", package, "--test-package", tests]);
        let program = env::current_exe().map_err(|source| Failure::Start {
            command: "this program".into(),
            source,
        })?;
        let runner = format!("['{}', 'first-failure']", program.display());
        command
            .args(["--in-place", "--no-shuffle", "--cargo-arg=--tests"])
            .arg(format!(
                "--cargo-arg=--config=target.'cfg(all())'.runner={runner}"
            ))
            .args(["--baseline", "skip", "--timeout", &limit, "--output"])
            .arg(&folder)
            .arg("--in-diff")
            .arg(&patch);
        for name in mutants {
            command.args(["--re", &exactly(name)]);
        }
        let line = format!("cargo mutants --package {package} --test-package {tests}");
        let status = command.status().map_err(|source| Failure::Start {
            command: line.clone(),
            source,
        })?;
        if !status.code().is_some_and(|code| NORMAL.contains(&code)) {
            return Err(Failure::Exit {
                command: line,
                how: status.to_string(),
                output: String::new(),
            });
        }
        Found::read(&folder.join("mutants.out"), mutants)
    }

    /// Returns the time limit of a crate's tests by the time that they take without a mutant, after building them.
    fn limit(&self, tests: &str) -> Result<Duration, Failure> {
        let shell = Shell::quiet(&self.copy.root);
        let test = ["test", "--tests", "--package", tests];
        let named = |failure: Failure| match failure {
            Failure::Exit {
                command,
                how,
                output,
            } => Failure::Found(format!(
                "{output}\nno mutant can be tried: `{command}` failed without one ({how})"
            )),
            other => other,
        };
        shell
            .run(self.bounded(&[&test[..], &["--no-run"]].concat()))
            .map_err(named)?;
        let start = Instant::now();
        shell.run(self.bounded(&test)).map_err(named)?;
        Ok((start.elapsed() * TIMES).max(LEAST_LIMIT))
    }

    /// Returns a cargo command with bounded memory, in the dev profile without debug information. A mutant may leave
    /// something unused, so no warning is an error.
    fn bounded(&self, arguments: &[&str]) -> Command {
        let cargo = Shell::quiet(&self.copy.root).cargo(&[]);
        let mut command = Command::new("prlimit");
        command
            .current_dir(&self.copy.root)
            .stdin(Stdio::null())
            .env("CARGO_TARGET_DIR", self.place.join("builds"))
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUSTFLAGS", "--cap-lints=warn")
            .arg(format!("--as={MEMORY}"))
            .arg(cargo.get_program())
            .args(arguments);
        command
    }
}

impl Found {
    /// Reads the results of these mutants from the folder that the tool left.
    fn read(folder: &Path, mutants: &[String]) -> Result<Self, Failure> {
        let read = |path: PathBuf| match fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(source) => Err(Failure::Read { path, source }),
        };
        let results = parse::<Outcomes>(&read(folder.join("outcomes.json"))?)?;
        let mut found = Self::default();
        for outcome in results.outcomes {
            let Scenario::Mutant(Mutant { name }) = outcome.scenario else {
                continue;
            };
            if !mutants.contains(&name) {
                continue;
            }
            let list = match outcome.summary {
                Summary::Unviable => &mut found.unviable,
                Summary::Success | Summary::MissedMutant => &mut found.missed,
                Summary::Failure | Summary::CaughtMutant => &mut found.caught,
                // A slow machine must not count as a test that failed.
                Summary::Timeout if has_failed(&read(folder.join(outcome.log_path))?) => {
                    &mut found.caught
                }
                Summary::Timeout => &mut found.timed_out,
            };
            list.push(name);
        }
        Ok(found)
    }
}

/// Returns a patch that adds the line of each of these mutants, relative to the root.
pub(super) fn lines_of(root: &Path, mutants: &[String]) -> io::Result<String> {
    let mut lines: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for name in mutants {
        let mut parts = name.split(':');
        let (file, line) = (
            parts.next(),
            parts.next().and_then(|line| line.parse().ok()),
        );
        if let (Some(file), Some(line)) = (file, line) {
            lines.entry(file).or_default().insert(line);
        }
    }
    let mut patch = Vec::new();
    for (file, lines) in lines {
        let text = fs::read_to_string(root.join(file))?;
        patch.push(format!(
            "diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n"
        ));
        for (added, line) in lines.into_iter().enumerate() {
            let before = line.saturating_sub(1 + added);
            let content = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            patch.push(format!("@@ -{before},0 +{line},1 @@\n+{content}\n"));
        }
    }
    Ok(patch.concat())
}

/// Returns true if a test has failed in what tests printed.
pub(super) fn has_failed(log: &str) -> bool {
    log.lines()
        .any(|line| line.starts_with("test ") && line.ends_with(" ... FAILED"))
}

/// Reads JSON that the tool wrote.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Found(format!(
            "cannot read what cargo-mutants wrote: {error}; this is written for release {RELEASE}"
        ))
    })
}

/// Returns a regular expression that matches this text and no other.
pub(super) fn exactly(text: &str) -> String {
    let mut expression = String::from("^");
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            expression.push('\\');
        }
        expression.push(letter);
    }
    expression + "$"
}
