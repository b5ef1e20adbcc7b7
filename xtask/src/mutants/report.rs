//! The result of a run, as a table and as JSON.

use std::fmt;

use serde::Serialize;

use crate::mutants::tool::Found;
use xtask::shell::Failure;

/// Least share of the mutants that tests must catch, in percent.
const LEAST_SHARE: f64 = 95.0;

/// The results of all crates.
#[derive(Serialize)]
pub(super) struct Report {
    seed: u64,
    pub(super) crates: Vec<Verdict>,
}

/// The result of one crate.
#[derive(Default, Serialize)]
pub(super) struct Verdict {
    name: String,
    /// Number of mutants that the crate has.
    of: usize,
    /// Number of mutants in the sample.
    tried: usize,
    /// Numbers of mutants that the tests of one crate caught, in the order of their runs.
    caught: Vec<Caught>,
    /// Mutants under which the tests took longer than their limit, which counts as caught.
    timed_out: Vec<String>,
    /// Number of mutants that do not compile, which count as nothing.
    unviable: usize,
    /// Mutants that no test noticed.
    pub(super) survivors: Vec<String>,
}

/// The number of mutants that the tests of one crate caught.
#[derive(Serialize)]
struct Caught {
    tests: String,
    mutants: usize,
}

impl Report {
    /// Creates a report without crates.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            crates: Vec::new(),
        }
    }

    /// Returns the report as JSON.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is numbers and words under names")
    }

    /// Returns an error if too few mutants were caught.
    pub(super) fn judge(&self) -> Result<(), Failure> {
        let viable = self.crates.iter().map(Verdict::viable).sum();
        let survived = self.crates.iter().map(|each| each.survivors.len()).sum();
        let share = share(viable, survived);
        println!("caught: {share:.1} % (at least {LEAST_SHARE} %)");
        if share >= LEAST_SHARE {
            return Ok(());
        }
        Err(Failure::Found(format!(
            "{survived} of {viable} mutants survived; for each, add a test of the behaviour, delete code that is not \
             needed, or explain in docs/promises.md why the two programs are equal"
        )))
    }
}

impl Verdict {
    /// Creates the result of a crate before its tests.
    pub(super) fn new(name: &str, of: usize, tried: usize) -> Self {
        Self {
            name: name.into(),
            of,
            tried,
            ..Self::default()
        }
    }

    /// Adds the results of the tests of one crate.
    pub(super) fn add(&mut self, tests: &str, found: Found) {
        self.caught.push(Caught {
            tests: tests.into(),
            mutants: found.caught.len(),
        });
        self.timed_out.extend(found.timed_out);
        self.unviable += found.unviable.len();
    }

    fn viable(&self) -> usize {
        self.tried.saturating_sub(self.unviable)
    }
}

/// Returns the share of mutants that did not survive, in percent.
fn share(viable: usize, survived: usize) -> f64 {
    if viable == 0 {
        return 100.0;
    }
    100.0 * viable.saturating_sub(survived) as f64 / viable as f64
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<10}{:>7}{:>7}{:>10}{:>10}{:>10}{:>9}  caught by",
            "crate", "of", "tried", "unviable", "timed out", "survived", "share"
        )?;
        for each in &self.crates {
            let share = share(each.viable(), each.survivors.len());
            write!(
                f,
                "{:<10}{:>7}{:>7}{:>10}{:>10}{:>10}{share:>7.1} % ",
                each.name,
                each.of,
                each.tried,
                each.unviable,
                each.timed_out.len(),
                each.survivors.len(),
            )?;
            for Caught { tests, mutants } in &each.caught {
                write!(f, " {tests} {mutants}")?;
            }
            writeln!(f)?;
        }
        for survivor in self.crates.iter().flat_map(|each| &each.survivors) {
            writeln!(f, "survived: {survivor}")?;
        }
        Ok(())
    }
}
