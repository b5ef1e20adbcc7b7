//! `lasthop unmount`.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::Args;
use runtime::mount::control::{Query, ask};

use super::answer::{Outcome, Status};
use super::page;
use super::place::Place;
use crate::failure::Failure;
use crate::interrupt;

/// Time between two messages about the remaining data.
const TELL: Duration = Duration::from_secs(2);
/// Time between two checks for the user's interruption.
const LOOK: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  lasthop unmount /mnt               waits until all written data are on the server's disk
  lasthop unmount --discard /mnt     does not wait: unsafe data are lost; prints how much

Ctrl-C ends the wait, prints what would be lost, and does not change the mount.
Exit codes: 0 unmounted and all data are safe, 1 not, 2 there is no such mount, 130 interrupted.";

/// Unmount a mount of `lasthop mount`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The mount point
    #[arg(value_name = "DIR")]
    point: PathBuf,
    /// Do not wait; lose data that are not safe
    #[arg(long)]
    discard: bool,
}

/// Unmounts.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let place = Place::find(&arguments.point)?;
    if place.is_abandoned() {
        eprintln!("its process is gone, and its unsafe data are lost; removing the mount");
        return place.remove();
    }
    let question = if arguments.discard {
        Query::Discard
    } else {
        Query::Unmount
    };
    interrupt::watch(|_| ())?;
    let (sender, receiver) = channel();
    let socket = place.socket.clone();
    std::thread::spawn(move || {
        // Nobody receives it after an interruption.
        let _ = sender.send(ask(&socket, question, None));
    });
    let mut until_told = TELL;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(answer) => return ended(answer.map_err(|error| place.unanswered(&error))?),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::broken("the waiting thread has ended"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt::is_set() {
            let status = place.status();
            let left = status.map_or_else(|_| "what it has".into(), |it| page::unsafe_data(&it));
            return Err(Failure::interrupted(format!(
                "not unmounted, since {left} would be lost (--discard gives that up); the mount stays as it is"
            )));
        }
        until_told = until_told.saturating_sub(LOOK);
        if until_told.is_zero() {
            until_told = TELL;
            if let Ok(status) = place.status() {
                eprintln!("waiting: {}", left(&status));
            }
        }
    }
}

/// Describes the data that are not safe yet, with the reason.
fn left(status: &Status) -> String {
    let unsafe_data = page::unsafe_data(status);
    match page::silence(status) {
        Some(silence) => {
            format!("{unsafe_data} not safe; the server has been silent for {silence}")
        }
        None => format!("{unsafe_data} not safe"),
    }
}

fn ended(outcome: Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::Failed { error } => return Err(Failure::broken(error)),
        Outcome::Elsewhere { .. } => eprintln!(
            "unmounted here; other mount namespaces (of containers or services) have it still, and the process that \
             keeps it ends with the last of them"
        ),
        Outcome::Discarded { lost } => eprintln!("lost: {lost}"),
        Outcome::Done {} => {}
    }
    Ok(())
}
