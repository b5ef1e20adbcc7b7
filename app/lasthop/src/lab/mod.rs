//! `lasthop lab`: experiments in the simulator, compared with published results.

mod choice;
mod output;
mod program;
mod progress;
mod registry;
mod report;
mod run;
mod show;
mod trace;

use clap::{Args, Subcommand};
use experiment::LabError;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  lasthop lab list                                  all experiments
  lasthop lab run channel-errors                    run it on all cores; tables follow
  lasthop lab run channel-errors --set 'size=200 B' --seeds 100 --out ./small
  lasthop lab report                                one HTML page of all results";

/// Run experiments in the simulator and compare them with published papers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(show::ListArguments),
    Show(show::ShowArguments),
    Run(run::Arguments),
    Report(report::Arguments),
    Trace(trace::Arguments),
}

/// Runs the requested subcommand.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::List(arguments) => show::list(arguments),
        Command::Show(arguments) => show::show(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => Self::interrupted(error),
            LabError::Plan(_)
            | LabError::OtherRuns { .. }
            | LabError::Busy(_)
            | LabError::Nothing(_) => Self::setting(error),
            _ => Self::broken(error),
        }
    }
}
