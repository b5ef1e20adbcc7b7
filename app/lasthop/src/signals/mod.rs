//! `lasthop signals`: shows the signals of a daemon, or of the emulator, on the hop.

mod page;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use edges::wait::{Interest, Waiter};
use runtime::signals::{ENDING, Subscription, SubscriptionError};
use signals::Signal;

use crate::failure::Failure;
use crate::status::{only_socket, unanswered};

const EXAMPLES: &str = "\
Examples:
  lasthop signals                        of the daemon on this host
  lasthop signals --name mobile          of one of several
  lasthop signals --socket air.signals   of `lasthop emulate --signals air.signals`
  lasthop signals --json | jq .event     for programs: each signal as a line of JSON

The first lines show the present state. docs/signals.md explains how a program subscribes.";

/// Show fades, hand-offs and disconnections as they happen.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The daemon, by its configuration's `name` [default: the only one]
    #[arg(long, conflicts_with = "socket")]
    name: Option<String>,
    /// Print JSON, a line for each signal
    #[arg(long)]
    json: bool,
    /// The daemon's `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = edges::undo::STATE_FOLDER)]
    state_dir: PathBuf,
    /// The path of the socket
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
}

/// Prints signals until the daemon ends, or the reader closes the pipe.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = match (&arguments.socket, &arguments.name) {
        (Some(socket), _) => socket.clone(),
        (None, Some(name)) => arguments.state_dir.join(format!("{name}.{ENDING}")),
        (None, None) => only_socket(&arguments.state_dir, ENDING)?,
    };
    let mut subscription =
        Subscription::connect(&path).map_err(|error| unanswered(&path, &error))?;
    let mut waiter = Waiter::new().map_err(Failure::broken)?;
    waiter
        .add(&subscription, 0, Interest::Readable)
        .map_err(Failure::broken)?;
    let mut printed = Ok(());
    loop {
        let received = subscription.receive(|signal| {
            if printed.is_ok() {
                printed = print(&signal, arguments.json);
            }
        });
        match &printed {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(Failure::broken(format!("cannot print: {error}"))),
        }
        let path = path.display();
        received.map_err(|error| match error {
            SubscriptionError::Ended => Failure::broken(format!("the daemon of {path} has ended")),
            error => Failure::broken(format!("{path}: {error}")),
        })?;
        let waited = waiter.wait(None).map(drop);
        waited.map_err(Failure::broken)?;
    }
}

fn print(signal: &Signal, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        out.write_all(signal.to_line().as_bytes())?;
    } else {
        writeln!(out, "{}", page::line(signal, page::wall_of(signal.at)))?;
    }
    out.flush()
}
