//! `cargo xtask mutants`: makes small mistakes in the code, one at a time, and counts those that a test finds.
//!
//! cargo-mutants makes the mistakes. A sample of each crate's mutants meets the crate's own tests; the survivors meet
//! the tests of the crates that use it, the quickest first. All of this happens in a copy of the repository, whose
//! builds are kept for the next run.

use std::path::PathBuf;
use std::{env, fs};

use crate::mutants::copy::Copy;
use crate::mutants::report::{Report, Verdict};
use crate::mutants::tool::Tool;
use xtask::shell::{Failure, Shell};

mod copy;
pub(crate) mod first;
mod report;
mod sample;
mod tool;

#[cfg(test)]
mod tests;

/// A crate whose tests are tested.
struct Subject {
    name: &'static str,
    /// Crates that use it, whose tests meet the mutants that its own tests let live.
    users: &'static [&'static str],
}

const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "arq",
        users: &["hosts", "world"],
    },
    Subject {
        name: "session",
        users: &["hosts", "world"],
    },
    Subject {
        name: "mtcp",
        users: &["association", "world"],
    },
    Subject {
        name: "hosts",
        users: &["world"],
    },
    Subject {
        name: "files",
        users: &["mount"],
    },
];

/// Options of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these crates; all five by default.
    #[arg(value_name = "CRATE", value_parser = SUBJECTS.map(|subject| subject.name))]
    crates: Vec<String>,
    /// Number of mutants of each crate.
    #[arg(long, value_name = "N", default_value_t = 25)]
    sample: usize,
    /// Number that chooses the mutants; equal seeds choose equal mutants of equal code.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Write the result to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Tries a sample of each crate's mutants; fails if too few of them are caught.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(false);
    tool::installed(&shell)?;
    let place = build_folder(&shell).join("mutants");
    let copy = Copy::refresh(&shell, place.join("tree"))?;
    let tool = Tool { copy, place };
    let mut report = Report::new(options.seed);
    for subject in &SUBJECTS {
        if options.crates.is_empty() || options.crates.iter().any(|name| name == subject.name) {
            report.crates.push(examine(&tool, subject, options)?);
        }
    }
    print!("{report}");
    if let Some(path) = &options.json {
        fs::write(path, report.json()).map_err(|source| Failure::Write {
            path: path.clone(),
            source,
        })?;
    }
    report.judge()
}

/// Tries a sample of one crate's mutants.
fn examine(tool: &Tool, subject: &Subject, options: &Options) -> Result<Verdict, Failure> {
    let all = tool.list(subject.name)?;
    let of = all.len();
    let mut left = sample::draw(all, options.sample, options.seed);
    println!(
        "{}: {} of {of} mutants, seed {}",
        subject.name,
        left.len(),
        options.seed
    );
    let mut verdict = Verdict::new(subject.name, of, left.len());
    for tests in std::iter::once(&subject.name).chain(subject.users) {
        if left.is_empty() {
            break;
        }
        println!("{}: {} meet the tests of {tests}", subject.name, left.len());
        let found = tool.test(subject.name, tests, &left)?;
        left = [found.missed.clone(), found.timed_out.clone()].concat();
        verdict.add(tests, found);
    }
    verdict.end();
    Ok(verdict)
}

/// Returns the folder of cargo's builds.
fn build_folder(shell: &Shell) -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    shell.root.join(named)
}
