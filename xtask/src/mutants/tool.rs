//! Runs of cargo-mutants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::mutants::copy::Copy;
use xtask::shell::{Failure, Shell};

/// Version of cargo-mutants whose files and options we know.
const RELEASE: &str = "27.1.0";

/// Memory of one program, in bytes: some mutants allocate without end.
const MEMORY: u64 = 6 << 30;

/// The time limit of one run of tests: so many times the time without a mutant, and at least this.
const TIMES: u32 = 4;
const LEAST_LIMIT: Duration = Duration::from_secs(60);

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
    pub(super) timed_out: Vec<String>,
    pub(super) missed: Vec<String>,
    /// These do not compile.
    pub(super) unviable: Vec<String>,
}

impl Tool {
    /// Returns the names of all mutants of a crate.
    pub(super) fn list(&self, package: &str) -> Result<Vec<String>, Failure> {
        let shell = Shell::quiet(&self.copy.root);
        let list =
            shell.run(shell.cargo(&["mutants", "--list", "--json", "--package", package]))?;
        let mutants: Vec<Mutant> = serde_json::from_str(&list).map_err(|error| {
            Failure::Found(format!(
                "cannot read the mutants of {package}: {error}; this is written for cargo-mutants {RELEASE}"
            ))
        })?;
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
        let limit = self.limit(tests)?.as_secs().to_string();
        let mut command = self.bounded(&["mutants", "--package", package, "--test-package", tests]);
        command
            .args(["--in-place", "--no-shuffle", "--cargo-arg=--tests"])
            .args(["--baseline", "skip", "--timeout", &limit, "--output"])
            .arg(&folder);
        for name in mutants {
            // The tool tries deleted fields of a file whether or not their names match.
            let file = name.split(':').next().unwrap_or_default();
            command.args(["--file", file, "--re", &exactly(name)]);
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
        shell.run(self.bounded(&[&test[..], &["--no-run"]].concat()))?;
        let start = Instant::now();
        shell.run(self.bounded(&test))?;
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
    /// Reads the results of these mutants from the lists that the tool left in its folder.
    fn read(folder: &Path, mutants: &[String]) -> Result<Self, Failure> {
        let list = |name: &str| {
            let path = folder.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Ok(text
                    .lines()
                    .map(String::from)
                    .filter(|name| mutants.contains(name))
                    .collect()),
                Err(source) => Err(Failure::Read { path, source }),
            }
        };
        Ok(Self {
            caught: list("caught.txt")?,
            timed_out: list("timeout.txt")?,
            missed: list("missed.txt")?,
            unviable: list("unviable.txt")?,
        })
    }
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
