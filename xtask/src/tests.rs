//! The step that runs the workspace's tests and counts them.

use crate::outcome::Outcome;
use xtask::shell::{Failure, Shell};

#[cfg(test)]
mod test;

/// Runs every test, even after one has failed.
///
/// The dev profile is the faster one here: release links with LTO, which costs more than the tests.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, Failure> {
    let result = shell.run(shell.cargo(&["test", "--workspace", "--no-fail-fast"]));
    match result {
        Ok(output) => passed(&Count::of(&output)),
        Err(Failure::Exit {
            command,
            how,
            output,
        }) => {
            let Count { passed, failed, .. } = Count::of(&output);
            let names = failed_tests(&output);
            Err(Failure::Exit {
                command,
                how,
                output: format!("{output}\n{names}{passed} passed, {failed} failed\n"),
            })
        }
        Err(failure) => Err(failure),
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
