//! `cargo xtask check`: everything that CI runs, step by step.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use crate::outcome::Outcome;
use crate::{layers, lints, ratchets, tests, tools};
use xtask::shell::{Failure, Shell};

/// Options of `cargo xtask check`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run this step alone; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
    /// List the steps and run none.
    #[arg(long)]
    list: bool,
    /// Show what each step prints while it runs.
    #[arg(short, long)]
    verbose: bool,
}

/// A step of the check.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Shell) -> Result<Outcome, Failure>,
}

/// The steps in the order of CI: the quick ones first, so that a mistake shows within a minute.
const STEPS: [Step; 7] = [
    Step {
        name: "tools",
        about: "the programs that tests need are installed",
        run: tools::run,
    },
    Step {
        name: "fmt",
        about: "the code is formatted (cargo fmt)",
        run: lints::fmt,
    },
    Step {
        name: "layers",
        about: "no dependency climbs or crosses the layers",
        run: layers::run,
    },
    Step {
        name: "ratchets",
        about: "files and functions are small; nothing banned is in the code",
        run: ratchets::run,
    },
    Step {
        name: "clippy",
        about: "clippy has nothing to say (warnings are errors)",
        run: lints::clippy,
    },
    Step {
        name: "docs",
        about: "the documentation builds, its pages are listed, and no link in it is broken",
        run: lints::docs,
    },
    Step {
        name: "tests",
        about: "all tests of the workspace pass",
        run: tests::run,
    },
];

/// Runs the requested steps, and stops at the first that fails.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.list {
        for step in &STEPS {
            println!("{:<10}{}", step.name, step.about);
        }
        return Ok(());
    }
    let shell = Shell::new(options.verbose);
    let asked =
        |step: &&Step| options.only.is_empty() || options.only.iter().any(|name| name == step.name);
    let mut tests_passed = 0;
    for step in STEPS.iter().filter(asked) {
        tests_passed += run_step(&shell, step)?.tests_passed;
    }
    if tests_passed > 0 {
        println!("{tests_passed} passed, 0 failed");
    }
    Ok(())
}

/// Runs one step and prints its line.
fn run_step(shell: &Shell, step: &Step) -> Result<Outcome, Failure> {
    print!("{:<10}", step.name);
    if shell.verbose {
        println!("{}", step.about);
    }
    // The line is complete only when the step is done; an error here loses nothing.
    let _ = io::stdout().flush();
    let start = Instant::now();
    let result = (step.run)(shell);
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(outcome) => {
            println!(
                "{} {seconds:6.1} s  {}",
                painted("ok    ", GREEN),
                outcome.note
            );
            Ok(outcome)
        }
        Err(failure) => {
            println!("{} {seconds:6.1} s", painted("FAILED", RED));
            Err(explain(shell, step, &failure))
        }
    }
}

/// Prints the reason why a step failed, and the command that repeats it.
fn explain(shell: &Shell, step: &Step, failure: &Failure) -> Failure {
    if let Failure::Exit { output, .. } = failure
        && !shell.verbose
    {
        print!("{output}");
    }
    println!("{failure}");
    Failure::Found(format!(
        "step '{0}' failed; to run it alone: cargo xtask check --only {0}",
        step.name
    ))
}

/// Codes of the terminal for green and red.
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";

/// Returns the text in this colour if the output is a terminal.
fn painted(text: &str, colour: &str) -> String {
    if io::stdout().is_terminal() {
        format!("{colour}{text}\x1b[0m")
    } else {
        text.into()
    }
}
