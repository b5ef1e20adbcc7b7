//! `lasthop nfs`: files at a server without mounting it.

mod cat;
mod cp;
mod df;
mod ls;
mod mkdir;
mod options;
mod problem;
mod rm;
mod session;
mod stat;
mod text;
mod transfer;

use clap::Subcommand;

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use options::Options;
use problem::Problem;
use session::Sessions;

const EXAMPLES: &str = "\
Examples:
  lasthop nfs ls -l nfs://files/srv/export/notes
  lasthop nfs cat nfs://files/srv/export/notes/today.txt
  lasthop nfs cp -r photos nfs://files/srv/export/
  lasthop nfs mkdir -p nfs://files/srv/export/photos/2026
  lasthop nfs rm -r nfs://files/srv/export/old
  lasthop nfs df nfs://files/srv/export

An address is nfs://HOST[:PORT]/PATH[?OPTION=VALUE&...]. PATH is the server's own: the directory that it exports, and
the path below it. The server's list shows which part is the export (the longest that fits). If it has no such list,
each part of the path is tried, the longest first; ?export=/PART sets it. Other options: mountport, nfsport
(without them the port mapper is asked), proto=udp|tcp|auto, rsize and wsize (the largest READ and WRITE in bytes).
In names `?` is written %3F and `%` is written %25; every other byte stands for itself.

Exit codes: 0 done, 1 something failed, 2 the command line or a setting is wrong, 130 interrupted.";

/// Work with files at an NFS server, without mounting it: lost calls are repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ls(ls::Arguments),
    Cat(cat::Arguments),
    Cp(cp::Arguments),
    Rm(rm::Arguments),
    Mkdir(mkdir::Arguments),
    Stat(stat::Arguments),
    Df(df::Arguments),
}

/// Runs the requested subcommand.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    interrupt::watch(|again| {
        if again {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    let mut sessions = Sessions::new(arguments.options.client()?)?;
    let outcome = match &arguments.command {
        Command::Ls(arguments) => ls::run(arguments, &mut sessions),
        Command::Cat(arguments) => cat::run(arguments, &mut sessions),
        Command::Cp(arguments) => cp::run(arguments, &mut sessions),
        Command::Rm(arguments) => rm::run(arguments, &mut sessions),
        Command::Mkdir(arguments) => mkdir::run(arguments, &mut sessions),
        Command::Stat(arguments) => stat::run(arguments, &mut sessions),
        Command::Df(arguments) => df::run(arguments, &mut sessions),
    };
    outcome.map_err(Problem::into_failure)
}
