//! The step that runs the workspace's tests and counts them.

use crate::check::Outcome;
use xtask::shell::{Failure, Shell};

#[cfg(test)]
mod test;

/// Runs every test, also after one has failed.
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

/// The outcome of a run in which nothing failed; a run without tests is no success.
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

/// The lines of the tests that failed, from among all the others.
fn failed_tests(output: &str) -> String {
    let failed = |line: &&str| line.starts_with("test ") && line.ends_with(" ... FAILED");
    output
        .lines()
        .filter(failed)
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// How many tests ended how.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Count {
    /// The sum of all of cargo's result lines in this output.
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

/// The number right before this word, or zero.
fn before(line: &str, word: &str) -> u64 {
    line.split_once(word)
        .and_then(|(left, _)| left.rsplit(' ').next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
