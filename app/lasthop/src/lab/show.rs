//! `lasthop lab list` and `lasthop lab show`.

use clap::Args;
use experiment::text;

use super::output::output;
use super::registry;
use crate::failure::Failure;

/// List the experiments.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {}

/// Show what an experiment measures and claims, and its plan.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The experiment
    experiment: String,
    /// Print only the plan, as a start for your own
    #[arg(long)]
    plan: bool,
}

/// Prints one line for each experiment.
pub(crate) fn list(_: &ListArguments) -> Result<(), Failure> {
    let lines: Vec<_> = registry::all()
        .map(|experiment| {
            let about = experiment.about();
            [about.name, about.group, about.title]
                .map(Into::into)
                .to_vec()
        })
        .collect();
    output(&text::aligned(&lines, 3))
}

/// Prints everything about an experiment without a run.
pub(crate) fn show(arguments: &ShowArguments) -> Result<(), Failure> {
    let experiment = registry::named(&arguments.experiment)?;
    let about = experiment.about();
    if arguments.plan {
        return output(about.plan);
    }
    let mut shown = format!("{}: {}\n{}\n\n", about.name, about.title, about.source);
    let mut add = |title: &str, part: &str| {
        if !part.is_empty() {
            shown = format!("{shown}{title}\n{part}\n");
        }
    };
    let metrics = about.metrics.iter();
    let metrics = metrics.map(|metric| [metric.name, metric.unit, metric.description]);
    add("Metrics", &columns(metrics));
    let keys = about.calibration.iter();
    let keys = keys.map(|known| [known.key, known.reason]);
    add("Calibration: not stated in the paper", &columns(keys));
    let claims = experiment.claims();
    let claims = claims.iter();
    let claims = claims.map(|claim| [claim.name, claim.source, claim.text]);
    add("Claims", &columns(claims));
    add("Plan", about.plan);
    output(&shown)
}

fn columns<const N: usize>(lines: impl Iterator<Item = [&'static str; N]>) -> String {
    let lines: Vec<_> = lines
        .map(|line| {
            line.map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" "))
                .to_vec()
        })
        .collect();
    text::aligned(&lines, N)
}
