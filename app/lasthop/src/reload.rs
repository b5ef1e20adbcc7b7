//! `lasthop reload`: has a daemon read its configuration again.

use std::path::PathBuf;

use clap::Args;
use runtime::control::ask_reload;

use crate::config::Source;
use crate::failure::Failure;
use crate::status::{ENDING, only_socket, unanswered};

const EXAMPLES: &str = "\
Examples:
  lasthop reload                   the daemon on this host
  lasthop reload --name gateway    one of several
  lasthop reload --config gateway.toml

A gateway adds, changes and revokes mobile hosts ([[peers]], [caps]) and loses no packet of the others. Other options
need a restart: the error names them, and nothing is changed. SIGHUP does the same. Exit code 0: done; 2: refused.";

/// Have a daemon read its configuration again, without a restart.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The daemon, by its configuration's `name` [default: the only one]
    #[arg(long)]
    name: Option<String>,
    /// The daemon, by its configuration
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "state_dir"])]
    config: Option<PathBuf>,
    /// The daemon's `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = edges::undo::STATE_FOLDER)]
    state_dir: PathBuf,
}

/// Requests the reload, and prints what has changed.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let socket = match (&arguments.config, &arguments.name) {
        (Some(path), _) => Source::read(path)?.socket()?,
        (None, Some(name)) => arguments.state_dir.join(format!("{name}.{ENDING}")),
        (None, None) => only_socket(&arguments.state_dir, ENDING)?,
    };
    let report = ask_reload(&socket).map_err(|error| unanswered(&socket, &error))?;
    println!("{}", report.map_err(Failure::setting)?);
    Ok(())
}
