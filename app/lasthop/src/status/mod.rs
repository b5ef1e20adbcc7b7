//! `lasthop status`: the status of a daemon.

mod names;
mod overview;
mod page;
mod registration;
#[cfg(test)]
mod schema_tests;
pub(crate) mod short;
mod text;
mod transport;
mod trouble;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hosts::{PeerSummary, Role};
use runtime::control::{ask_status, ask_status_page, ask_summary};
use runtime::{Status, Summary};
use serde_json::Value;

use crate::failure::Failure;

pub(crate) use page::role;
pub(crate) use registration::state;

const EXAMPLES: &str = "\
Examples:
  lasthop status                   one line for each peer of the daemon on this host
  lasthop status --peer tablet7    all about one peer
  lasthop status --name gateway    of one of several daemons
  lasthop status --json            for programs: one line of JSON, see docs/status-schema.json

Exit codes:
  0  a mobile host is connected; a gateway runs; with --peer: that peer is connected
  2  no daemon runs here or answers, or it has no peer of that name
  3  the daemon runs, but is not connected";

/// Extension of a control socket's file name.
pub(crate) const ENDING: &str = "sock";

/// The daemon of a query.
#[derive(Debug, Args)]
pub(crate) struct DaemonChoice {
    /// The daemon, by its configuration's `name` [default: the only one]
    #[arg(long)]
    name: Option<String>,
    /// The daemon's `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = edges::undo::STATE_FOLDER)]
    state_dir: PathBuf,
}

impl DaemonChoice {
    /// Returns the daemon's control socket.
    pub(crate) fn socket(&self) -> Result<PathBuf, Failure> {
        match &self.name {
            Some(name) => Ok(self.state_dir.join(format!("{name}.{ENDING}"))),
            None => only_socket(&self.state_dir, ENDING),
        }
    }
}

/// Show the state of a daemon and its hop.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    daemon: DaemonChoice,
    /// Show all about this peer
    #[arg(long, value_name = "NAME")]
    peer: Option<String>,
    /// Print the complete status as JSON
    #[arg(long)]
    json: bool,
}

/// Requests the status, and prints it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let socket = arguments.daemon.socket()?;
    let unanswered = |error| unanswered(&socket, &error);
    let (page, is_connected) = match &arguments.peer {
        Some(name) => {
            let mut status = only_peer(&socket, name)?;
            let mut peers = status["host"]["peers"].as_array_mut().into_iter().flatten();
            let is_connected = peers.any(|peer| !peer["keys_age"].is_null());
            let page = if arguments.json {
                format!("{status}\n")
            } else {
                page::render(&read(&socket, status)?)
            };
            (page, is_connected)
        }
        None if arguments.json => {
            let status = ask_status::<Value>(&socket).map_err(unanswered)?;
            let mut peers = status["host"]["peers"].as_array().into_iter().flatten();
            let is_connected = status["host"]["role"] == "gateway"
                || peers.any(|peer| !peer["keys_age"].is_null());
            (format!("{status}\n"), is_connected)
        }
        None => {
            let summary: Summary = ask_summary(&socket).map_err(unanswered)?;
            let has_colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let page = overview::render(&summary, has_colours);
            (page, summary.host.as_ref().is_none_or(is_connected))
        }
    };
    // A reader that has gone, such as `head`, has all that it wants.
    let _ = io::stdout().lock().write_all(page.as_bytes());
    if is_connected {
        Ok(())
    } else {
        Err(Failure::not_connected())
    }
}

/// Returns true if a mobile host is connected; a gateway need not be.
fn is_connected(host: &hosts::Summary) -> bool {
    match host.role {
        Role::Gateway => true,
        Role::Mobile => host.peers.iter().any(|peer| peer.is_connected),
    }
}

/// Returns the summaries of all peers of the daemon at `socket`.
pub(crate) fn peers_of(socket: &Path) -> Result<Vec<PeerSummary>, Failure> {
    let summary: Summary = ask_summary(socket).map_err(|error| unanswered(socket, &error))?;
    Ok(summary.host.map(|host| host.peers).unwrap_or_default())
}

/// Returns the status of a daemon with one peer alone.
fn only_peer(socket: &Path, name: &str) -> Result<Value, Failure> {
    let unanswered = |error| unanswered(socket, &error);
    let peers = peers_of(socket)?;
    let is_it = |peer: &&PeerSummary| peer.name == name;
    let missing = || {
        let known: Vec<_> = peers
            .iter()
            .map(|peer| peer.name.as_str())
            .take(20)
            .collect();
        let more = if peers.len() > known.len() {
            ", …"
        } else {
            ""
        };
        let known = known.join(", ");
        Failure::setting(format!(
            "the daemon has no peer '{name}'; it has: {known}{more}"
        ))
    };
    let number = peers.iter().find(is_it).ok_or_else(missing)?.number;
    let mut status: Value = ask_status_page(socket, number).map_err(unanswered)?;
    let host = &mut status["host"];
    if let Some(host) = host.as_object_mut() {
        host.remove("more_from");
    }
    let page = host["peers"].as_array_mut();
    page.ok_or_else(missing)?
        .retain(|peer| peer["name"] == name);
    Ok(status)
}

fn read(socket: &Path, status: Value) -> Result<Status, Failure> {
    serde_json::from_value(status)
        .map_err(|error| unanswered(socket, &io::Error::new(io::ErrorKind::InvalidData, error)))
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
