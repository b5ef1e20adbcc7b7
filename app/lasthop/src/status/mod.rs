//! `lasthop status`: the status of a daemon.

mod page;
mod registration;
mod text;
mod transport;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::control::ask_status;
use serde_json::Value;

use crate::failure::Failure;

pub(crate) use page::{role, state};

const EXAMPLES: &str = "\
Examples:
  lasthop status                   of the daemon on this host
  lasthop status --name gateway    of one of several
  lasthop status --json            for programs: one line of JSON";

/// Extension of a control socket's file name.
pub(crate) const ENDING: &str = "sock";

/// Show the status of a daemon and its hop.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The daemon, by its configuration's `name` [default: the only one]
    #[arg(long)]
    name: Option<String>,
    /// Print the complete status as JSON
    #[arg(long)]
    json: bool,
    /// The daemon's `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = edges::undo::STATE_FOLDER)]
    state_dir: PathBuf,
}

/// Requests the status, and prints it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let socket = match &arguments.name {
        Some(name) => arguments.state_dir.join(format!("{name}.{ENDING}")),
        None => only_socket(&arguments.state_dir, ENDING)?,
    };
    let unanswered = |error| unanswered(&socket, &error);
    if arguments.json {
        println!("{}", ask_status::<Value>(&socket).map_err(unanswered)?);
    } else {
        let status = ask_status(&socket).map_err(unanswered)?;
        print!("{}", page::render(&status));
    }
    Ok(())
}

/// Returns the socket of the only daemon in `folder`, by the extension of its file name.
pub(crate) fn only_socket(folder: &Path, ending: &str) -> Result<PathBuf, Failure> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let paths = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let is_socket = |path: &PathBuf| path.extension().is_some_and(|its| its == ending);
        let mut sockets = paths.collect::<io::Result<Vec<_>>>()?;
        sockets.retain(is_socket);
        sockets.sort();
        Ok(sockets)
    };
    let mut sockets = match list() {
        Ok(sockets) => sockets,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(unanswered(folder, &error)),
    };
    match sockets.len() {
        0 => Err(Failure::setting(format!(
            "no daemon runs here ({} holds no socket); start one with `lasthop gateway` or `lasthop mobile`",
            folder.display()
        ))),
        1 => Ok(sockets.remove(0)),
        _ => {
            let names: Vec<_> = sockets
                .iter()
                .filter_map(|path| path.file_stem()?.to_str())
                .collect();
            let names = names.join(", ");
            Err(Failure::setting(format!(
                "several daemons run here; choose one with --name: {names}"
            )))
        }
    }
}

/// Returns the error that no daemon answers at `path`, as the user sees it.
pub(crate) fn unanswered(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    Failure::setting(match error.kind() {
        io::ErrorKind::NotFound => {
            format!("no daemon of that name runs here: there is no {path}")
        }
        io::ErrorKind::ConnectionRefused => {
            format!("the daemon of {path} is dead; start it again, and it cleans up")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{path} is closed to this user; run this as the user of the daemon (root)")
        }
        io::ErrorKind::WouldBlock => format!("the daemon of {path} does not answer"),
        io::ErrorKind::UnexpectedEof => format!("the daemon of {path} ended before it answered"),
        io::ErrorKind::InvalidData => format!(
            "the daemon of {path} does not answer as version {} of this command expects: {error}; --json prints what \
             it says",
            env!("CARGO_PKG_VERSION")
        ),
        _ => format!("cannot ask at {path}: {error}"),
    })
}
