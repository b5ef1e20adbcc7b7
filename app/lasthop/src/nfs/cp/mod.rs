//! `lasthop nfs cp`: copies files to, from and between servers.

mod copier;
mod destination;
mod job;
mod local;
mod meta;
mod meter;
mod options;
mod origin;
mod part;
mod remote;
mod verify;
mod walk;

use std::ffi::OsString;

use clap::value_parser;

use super::problem::Problem;
use super::session::Sessions;
use copier::Copier;
use destination::Destination;
use meter::Meter;
use options::How;
use origin::Origin;

const EXAMPLES: &str = "\
Examples:
  lasthop nfs cp film.mkv nfs://files/srv/export/films/
  lasthop nfs cp nfs://files/srv/export/films/film.mkv .
  lasthop nfs cp -rp photos notes nfs://files/srv/export/backup/
  lasthop nfs cp --resume film.mkv nfs://files/srv/export/films/      after an interruption
  lasthop nfs cp -r nfs://one/srv/a nfs://two/srv/b

A file is written as `.NAME.lasthop-part` and gets its name when it is complete and on the disk of the server.
After an interruption continue with --resume, as long as the source has not changed since.";

/// Copy files to, from and between servers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The sources: URLs, or paths of this host
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<OsString>,
    /// The destination: a URL, or a path of this host
    #[arg(value_name = "DESTINATION")]
    destination: OsString,
    /// Copy directories with all their content; symbolic links are copied as such
    #[arg(short, long)]
    recursive: bool,
    /// Keep permissions and times
    #[arg(short, long)]
    preserve: bool,
    /// Continue an interrupted copy, if the source has not changed
    #[arg(long)]
    resume: bool,
    /// Read back the written data, and compare
    #[arg(long)]
    verify: bool,
    /// Number of files copied at the same time, at most 256
    #[arg(short, long, value_name = "N", default_value = "32", value_parser = value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Print no progress, and no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print the summary as JSON to standard output
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let sources = &arguments.sources;
    let how = How {
        preserve: arguments.preserve,
        resume: arguments.resume,
        verify: arguments.verify,
        mask: if arguments.preserve { 0 } else { umask() },
    };
    let meter = Meter::start(arguments.quiet);
    let destination = Destination::find(&arguments.destination, sources.len() > 1, sessions)?;
    let mut origins = Vec::new();
    for source in sources {
        origins.push(Origin::find(source, arguments.recursive, sessions)?);
    }
    let readers = how
        .verify
        .then(|| destination.reader(sessions))
        .transpose()?;
    for connection in sessions.connections() {
        meter.watch(connection);
    }
    let copier = Copier {
        how,
        jobs: arguments.jobs,
        meter: &meter,
        reader: readers.flatten(),
    };
    let outcome = copier.copy(&origins, &destination);
    meter.end();
    if arguments.json {
        super::ls::print(format!("{:#}\n", meter.json()).as_bytes())?;
    }
    outcome
}

/// Returns the mode bits that new files of this process do not get.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.bits()
}
