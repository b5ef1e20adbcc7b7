//! `cargo xtask planted`: bugs are planted one by one, and a search must find each within a minute. The same input must
//! then pass without the bug, and so must many others.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use planted::{Bug, CAN_PLANT, Row, VARIABLE};
use serde::Serialize;
use xtask::shell::Shell;

use self::search::Finding;
use crate::failure::Failure;

mod search;

/// Options of the command.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask planted\n  cargo xtask planted --only AddressMovesAtOnce"
)]
pub(crate) struct Options {
    /// Plant this bug alone; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = names())]
    only: Vec<String>,
    /// List the bugs and plant none
    #[arg(long)]
    list: bool,
    /// Most seconds to find a bug
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of seeds that each search must pass without a bug
    #[arg(long, default_value_t = 200)]
    clean: u64,
    /// File for the results, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/planted.json")]
    json: PathBuf,
    /// Run this search alone, and print its result as JSON: how this command calls itself
    #[arg(long, hide = true)]
    search: Option<String>,
    /// Number of seeds of that search, instead of a time
    #[arg(long, hide = true)]
    seeds: Option<u64>,
}

/// Result for a bug, or for a search without one.
#[derive(Debug, Serialize)]
struct Outcome {
    bug: &'static str,
    promise: &'static str,
    search: &'static str,
    /// The promise and the words of the oracle; `None` if nothing was found.
    found_by: Option<String>,
    seed: Option<u64>,
    runs: u64,
    seconds: f64,
}

/// Name of a search without a bug in the table.
const NO_BUG: &str = "(no bug)";

fn names() -> Vec<&'static str> {
    Bug::ROWS.iter().map(|row| row.name).collect()
}

/// Plants the bugs, and fails if one is not found or if something is found without one.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if let Some(name) = &options.search {
        return search::run(name, options.seed, options.seeds, options.seconds);
    }
    let rows = Bug::ROWS.iter();
    let is_asked =
        |row: &&Row| options.only.is_empty() || options.only.iter().any(|n| n == row.name);
    let rows: Vec<_> = rows.filter(is_asked).collect();
    if options.list {
        for row in rows {
            println!(
                "{:<24}{:<5}{:<34}{}",
                row.name,
                row.promise,
                row.search,
                row.about.trim()
            );
        }
        return Ok(());
    }
    if !CAN_PLANT {
        let text = "this build has no bugs to plant; run it as cargo xtask planted";
        return Err(Failure::Found(text.into()));
    }
    let runner = Runner {
        shell: Shell::new(false),
        options,
    };
    let mut outcomes = Vec::new();
    let mut faults = Vec::new();
    println!(
        "{:<24}{:<9}{:>6}{:>9}  found by",
        "bug", "promise", "runs", "seconds"
    );
    for row in &rows {
        let outcome = runner.plant(row, &mut faults)?;
        print(&outcome);
        if outcome.found_by.is_none() {
            faults.push(format!("{} was not found", row.name));
        } else if outcome.seconds > options.seconds as f64 {
            let (name, seconds) = (row.name, outcome.seconds);
            faults.push(format!("{name} was found after {seconds:.0} s only"));
        }
        outcomes.push(outcome);
    }
    let mut searches: Vec<_> = rows.iter().map(|row| row.search).collect();
    searches.sort_unstable();
    searches.dedup();
    for search in searches {
        let outcome = runner.without_bug(search)?;
        print(&outcome);
        if let Some(text) = &outcome.found_by {
            faults.push(format!("{search} without a bug: {text}"));
        }
        outcomes.push(outcome);
    }
    crate::bench::keep(&runner.shell, &options.json, &outcomes)?;
    Failure::unless_empty(&faults)
}

fn print(outcome: &Outcome) {
    let found = match (&outcome.found_by, outcome.bug) {
        (Some(text), _) => text.clone(),
        (None, NO_BUG) => "nothing, as it should be".to_owned(),
        (None, _) => "NOT FOUND".to_owned(),
    };
    let seed = outcome
        .seed
        .map_or(String::new(), |seed| format!("{seed}: "));
    println!(
        "{:<24}{:<9}{:>6}{:>9.1}  {} {seed}{found}",
        outcome.bug, outcome.promise, outcome.runs, outcome.seconds, outcome.search
    );
}

/// Starts the searches.
struct Runner<'a> {
    shell: Shell,
    options: &'a Options,
}

impl Runner<'_> {
    /// Plants a bug and searches. What is found without the bug too is a fault of the search, and no finding.
    fn plant(&self, row: &Row, faults: &mut Vec<String>) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        let mut outcome = Outcome {
            bug: row.name,
            promise: row.promise,
            search: row.search,
            found_by: None,
            seed: None,
            runs: 0,
            seconds: 0.0,
        };
        let mut first = self.options.seed;
        loop {
            let limit = Duration::from_secs(self.options.seconds);
            let left = limit.saturating_sub(begun.elapsed()).as_secs();
            if left == 0 {
                return Ok(outcome);
            }
            let bounds = ["--seconds".to_owned(), left.to_string()];
            let finding = self.search(row.search, Some(row), first, &bounds)?;
            outcome.runs += finding.runs;
            outcome.seconds += finding.seconds;
            let (Some(seed), Some(found_by)) = (finding.seed, finding.found_by) else {
                return Ok(outcome);
            };
            let once = ["--seeds".to_owned(), "1".to_owned()];
            let without = self.search(row.search, None, seed, &once)?;
            match without.found_by {
                None => {
                    (outcome.seed, outcome.found_by) = (Some(seed), Some(found_by));
                    return Ok(outcome);
                }
                Some(text) => {
                    faults.push(format!("{} {seed} without a bug: {text}", row.search));
                    first = seed + 1;
                }
            }
        }
    }

    /// Runs a search without a bug, which must find nothing.
    fn without_bug(&self, search: &'static str) -> Result<Outcome, Failure> {
        let bounds = ["--seeds".to_owned(), self.options.clean.to_string()];
        let finding = self.search(search, None, self.options.seed, &bounds)?;
        Ok(Outcome {
            bug: NO_BUG,
            promise: "all",
            search,
            found_by: finding.found_by,
            seed: finding.seed,
            runs: finding.runs,
            seconds: finding.seconds,
        })
    }

    /// Runs a search in a process of its own, in which a bug may be planted.
    fn search(
        &self,
        name: &str,
        row: Option<&Row>,
        first: u64,
        bounds: &[String],
    ) -> Result<Finding, Failure> {
        if let Some((package, filter)) = name.split_once("::") {
            return Ok(search::tests(
                &self.shell,
                package,
                filter,
                row.map(|row| row.name),
            ));
        }
        let program = std::env::current_exe();
        let program = program.map_err(|error| Failure::Found(format!("this program: {error}")))?;
        let mut command = Command::new(program);
        command
            .current_dir(&self.shell.root)
            .args(["planted", "--search", name]);
        command.arg("--seed").arg(first.to_string()).args(bounds);
        command.env_remove(VARIABLE);
        if let Some(row) = row {
            command.env(VARIABLE, row.name);
        }
        let text = self.shell.run(command)?;
        let line = text.lines().last().unwrap_or_default();
        serde_json::from_str(line)
            .map_err(|error| Failure::Found(format!("{name}: the result is unreadable: {error}")))
    }
}
