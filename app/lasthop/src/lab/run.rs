//! `lasthop lab run`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use edges::signals::Signals;
use experiment::{Campaign, Experiment, Judged, Override, Program, Table, text};
use serde_json::json;

use super::choice::{Choice, choose_all, known_scheme};
use super::output::output;
use super::progress::Line;
use crate::failure::Failure;

/// Default folder of results.
pub(crate) const FOLDER: &str = "lasthop-lab";

const EXAMPLES: &str = "\
Examples:
  lasthop lab run ton97                             every experiment of a paper, on all cores
  lasthop lab run nfs95 nfs97                       those of two papers, one after the other
  lasthop lab run ton97-table3 --seeds 100 --against E2E
  lasthop lab run ton97-table2 --set 'snoop.timing.minimum_timeout=40 ms' --out ./fast-timer
  lasthop lab run ton97-claims --check              exit code 1 if a claim of the paper does not hold
  lasthop lab show ton97-table3 --plan > my.toml    after edits: lasthop lab run my.toml --json";

/// Run experiments, groups of them, or your own plans, on all cores.
///
/// Results are stored as runs end, in a folder for each experiment; the same command continues from there after
/// an interruption, and with more seeds it runs only those that are missing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Experiments or groups (`lasthop lab list`), or plans' TOML files
    #[arg(value_name = "EXPERIMENT|GROUP|PLAN.toml", required = true)]
    what: Vec<String>,
    /// Number of seeds of each case [default: that of the plan]
    #[arg(long)]
    seeds: Option<u64>,
    /// Number of runs at once [default: one for each core]
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Change a parameter (`size=200 B`), or any other part of the plan (`schemes.LL.suppress=true`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// The folder of the results [default: lasthop-lab/EXPERIMENT]; a group has a folder in it for each experiment
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Start again: discard the stored runs
    #[arg(long)]
    fresh: bool,
    /// Also print the difference of every scheme from this one, on common seeds
    #[arg(long, value_name = "SCHEME", conflicts_with = "json")]
    against: Option<String>,
    /// Print the results as a JSON array of rows; with --check, an object of rows and claims
    #[arg(long)]
    json: bool,
    /// Fail if one of the paper's claims does not hold
    #[arg(long)]
    check: bool,
}

/// The result of one experiment.
struct Outcome {
    experiment: &'static dyn Experiment,
    folder: PathBuf,
    table: Table,
    judged: Vec<Judged>,
}

/// Runs the requested experiments, and prints the results.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut overrides = arguments.overrides.clone();
    overrides.extend(arguments.seeds.map(Override::seeds));
    let choices = choose_all(&arguments.what, &overrides)?;
    // An invalid plan is refused before the first run of any of them.
    for choice in &choices {
        experiment::check(choice.experiment, &choice.plan)?;
        if let Some(against) = &arguments.against {
            known_scheme(&choice.plan, against)?;
        }
    }
    let program = super::program::this()?;
    let mut signals = Signals::catch()
        .map_err(|error| Failure::broken(format!("cannot catch signals: {error}")))?;
    let several = choices.len() > 1;
    let mut outcomes = Vec::new();
    for choice in &choices {
        let name = choice.experiment.about().name;
        let folder = match &arguments.out {
            Some(out) if several => out.join(name),
            Some(out) => out.clone(),
            None => Path::new(FOLDER).join(name),
        };
        let outcome = run_one(choice, folder, arguments, &program, &mut signals)?;
        if !arguments.json {
            print(&outcome, arguments.against.as_deref())?;
        }
        outcomes.push(outcome);
    }
    if arguments.json {
        print_json(&outcomes, arguments.check)?;
    }
    verdict(&outcomes, arguments.check)
}

fn run_one(
    choice: &Choice,
    folder: PathBuf,
    arguments: &Arguments,
    program: &Program,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let experiment = choice.experiment;
    if arguments.fresh {
        experiment::forget(&folder)?;
    }
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let campaign = Campaign {
        experiment,
        plan: &choice.plan,
        folder: &folder,
        jobs: arguments.jobs.unwrap_or_else(cores),
        program,
    };
    let mut line = Line::new(experiment.about().name, signals);
    let table = experiment::run(campaign, &mut |progress| line.show(progress))?;
    drop(line);
    let judged = table.judge(experiment);
    Ok(Outcome {
        experiment,
        folder,
        table,
        judged,
    })
}

fn print(outcome: &Outcome, against: Option<&str>) -> Result<(), Failure> {
    let about = outcome.experiment.about();
    let head = format!("{}: {}\n{}\n\n", about.name, about.title, about.source);
    let tables = text::tables(&outcome.table);
    let compared = against.map(|against| text::comparison(&outcome.table, against));
    let mut claims = text::claims(&outcome.judged);
    if !claims.is_empty() {
        claims.push('\n');
    }
    let folder = outcome.folder.display();
    let tail = format!("results: {folder}\npage:    lasthop lab report {folder}\n\n");
    output(&[head, tables, compared.unwrap_or_default(), claims, tail].concat())
}

fn print_json(outcomes: &[Outcome], with_claims: bool) -> Result<(), Failure> {
    let rows: Vec<_> = outcomes
        .iter()
        .flat_map(|outcome| outcome.table.rows())
        .collect();
    let claims = outcomes.iter().flat_map(|outcome| {
        let experiment = outcome.experiment.about().name;
        let judged = outcome.judged.iter();
        judged.map(move |judged| {
            let claim = &judged.claim;
            json!({
                "experiment": experiment,
                "claim": claim.name,
                "text": claim.text,
                "source": claim.source,
                "holds": judged.verdict.as_ref().ok().map(|verdict| verdict.holds),
                "numbers": judged.numbers(),
            })
        })
    });
    let whole = if with_claims {
        json!({ "rows": rows, "claims": claims.collect::<Vec<_>>() })
    } else {
        json!(rows)
    };
    output(&format!("{whole:#}\n"))
}

fn verdict(outcomes: &[Outcome], is_asked: bool) -> Result<(), Failure> {
    let judged = outcomes.iter().flat_map(|outcome| &outcome.judged);
    let failed: Vec<_> = judged
        .filter(|judged| judged.fails())
        .map(|judged| judged.claim.name)
        .collect();
    if is_asked && !failed.is_empty() {
        let failed = failed.join(", ");
        return Err(Failure::broken(format!(
            "claims that do not hold: {failed}"
        )));
    }
    Ok(())
}
