//! `lasthop clean`: takes back what dead daemons have left in the system.

use std::path::PathBuf;

use clap::Args;
use edges::resolver;
use edges::undo::{STATE_FOLDER, UndoLog, standing};

use crate::failure::Failure;
use crate::up::refuse_without_root;

const EXAMPLES: &str = "\
Examples:
  lasthop clean    after a crash, if no daemon is to start again

A daemon that ends takes back its rules, routes and kernel parameters, also after most crashes, and one that starts
takes back those of dead ones. This does it without a start. Running daemons are left alone.";

/// Take back every rule, route, kernel parameter and resolver that a dead daemon has left.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The daemons' `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = STATE_FOLDER)]
    state_dir: PathBuf,
}

/// Takes the changes back, and prints what they were.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    refuse_without_root()?;
    let name = format!("clean-{}", std::process::id());
    let (undo, left) = UndoLog::open(&arguments.state_dir, &name).map_err(Failure::setting)?;
    let mut failed = 0;
    let lifted = standing::lift_abandoned(&arguments.state_dir).map_err(Failure::setting)?;
    for recovery in left.iter().chain(&lifted) {
        println!(
            "{}: took back {} changes",
            recovery.path.display(),
            recovery.undone
        );
        for warning in &recovery.warnings {
            eprintln!("warning: {warning}");
        }
        failed += recovery.warnings.len();
    }
    let resolvers = resolver::lift_abandoned(&arguments.state_dir).map_err(Failure::setting)?;
    for (path, error) in &resolvers {
        match error {
            None => println!("{}: took back the resolver", path.display()),
            Some(error) => eprintln!("warning: {error}"),
        }
        failed += usize::from(error.is_some());
    }
    undo.undo().map_err(Failure::broken)?;
    let is_clean = left.is_empty() && lifted.is_empty() && resolvers.is_empty();
    match (is_clean, failed) {
        (true, _) => println!("Nothing was left."),
        (false, 0) => {}
        (false, _) => {
            return Err(Failure::broken(
                "some changes could not be taken back; see above",
            ));
        }
    }
    Ok(())
}
