//! `lasthop mount`, `unmount` and `sync`: files of a server as a part of this host's file tree.

mod answer;
mod background;
mod daemon;
mod ending;
mod options;
mod page;
mod place;
mod request;
mod unmount;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use runtime::mount::control::{Query, ask};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::Failure;
use answer::Outcome;
use options::Options;
use place::Place;

pub(crate) use unmount::{Arguments as UnmountArguments, run as run_unmount};

/// Time limit of a mount's reply on its control socket.
const PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  lasthop mount nfs://files/srv/export /mnt
  lasthop mount nfs://files/srv/export /mnt -o soft=1min,ro
  lasthop mount --status /mnt
  lasthop sync /mnt                    wait until all written data are on the server's disk
  lasthop unmount /mnt

Options (-o, separated by commas; options of mount(8) and nfs(5) that have a meaning here):
  hard, soft=TIME        wait for a silent server for ever (default), or fail with ETIMEDOUT after TIME; no written
                         data are dropped by that
  ro, rw                 whether anything can be changed
  block=SIZE|auto        bytes of one READ or WRITE, 1024 to 32768; rsize=N and wsize=N: at most so many
  window=N|auto          READs and WRITEs in flight at once
  policy=NAME            when a call is sent again: adaptive, exponential, linear, hybrid-linear
  actimeo=TIME, noac     for how long attributes are believed (also acregmin, acregmax, acdirmin, acdirmax)
  proto=udp|tcp|auto     the transport; port=N, mountport=N, export=PATH, noresvport
  allow_other, noallow_other  whether other users have access (default: if root mounts)
  bg, fg                 whether to go on in the background while the server does not answer
  durability=server      fsync and close wait for the server's disk: the only value so far
  signals=SOCKET         where a daemon reports fades and hand-offs (default: the mobile host's), or nosignals
  log=FILE               where the process in the background writes its log

close() and fsync() report errors of earlier writes; sync(2) does not reach a FUSE mount: use `lasthop sync`.
Root mounts by itself; other users need `fusermount3` (package fuse3).
Exit codes: 0 mounted, 1 something failed, 2 the command line or a setting is wrong, 130 interrupted.";

/// Mount files of an NFS server: lost calls are repeated.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The directory to mount: `nfs://HOST[:PORT]/PATH`
    #[arg(required_unless_present_any = ["status", "list"])]
    url: Option<OsString>,
    /// The mount point: a directory
    #[arg(value_name = "DIR", required_unless_present_any = ["status", "list"])]
    point: Option<PathBuf>,
    /// Mount options, separated by commas
    #[arg(short, long, value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
    /// Stay in the foreground; Ctrl-C unmounts
    #[arg(long)]
    foreground: bool,
    /// Show the status of the mount at DIR: unsafe data and waiting requests
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "options", "foreground"])]
    status: Option<PathBuf>,
    /// List the mounts
    #[arg(long, conflicts_with_all = ["url", "options", "foreground", "status"])]
    list: bool,
    /// With --status or --list: print JSON
    #[arg(long)]
    json: bool,
    /// The process in the background, which reports on standard output that the mount works.
    #[arg(long, hide = true)]
    child: bool,
}

/// Mounts, or shows mounts.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.list {
        return list(arguments.json);
    }
    if let Some(point) = &arguments.status {
        return status(point, arguments.json);
    }
    let (Some(url), Some(point)) = (&arguments.url, &arguments.point) else {
        return Err(Failure::setting("name what to mount, and where"));
    };
    let options = Options::parse(&arguments.options)?;
    let wanted = request::MountRequest::new(url, place::directory(point)?, options)?;
    match (arguments.foreground, arguments.child) {
        (true, _) => daemon::run(wanted, daemon::Parent::None),
        (false, true) => daemon::run(wanted, daemon::Parent::Waits),
        (false, false) => background::start(),
    }
}

fn status(point: &Path, json: bool) -> Result<(), Failure> {
    let place = Place::find(point)?;
    if json {
        println!("{}", place.status::<Value>()?);
    } else {
        print!("{}", page::render(&place.status()?));
    }
    Ok(())
}

/// A mount in a list.
#[derive(Serialize)]
struct Listed {
    point: String,
    source: String,
    /// True if its process answers.
    answers: bool,
}

fn list(json: bool) -> Result<(), Failure> {
    let mounted = edges::fuse::mounted().map_err(Failure::broken)?;
    let all = mounted.into_iter().map(|one| {
        let socket = place::socket(one.device);
        Listed {
            answers: ask::<IgnoredAny>(&socket, Query::Status, Some(PATIENCE)).is_ok(),
            point: one.point.to_string_lossy().into(),
            source: one.source,
        }
    });
    if json {
        println!("{}", serde_json::json!(all.collect::<Vec<_>>()));
        return Ok(());
    }
    for one in all {
        let note = if one.answers {
            ""
        } else {
            " (its process does not answer)"
        };
        println!("{} on {}{note}", one.source, one.point);
    }
    Ok(())
}

/// Wait until all data written to a mount are on the server's disk.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 all data safe, 1 not all safe, 2 there is no such mount.")]
pub(crate) struct SyncArguments {
    /// The mount point
    #[arg(value_name = "DIR")]
    point: PathBuf,
}

/// Waits until the data are on the server's disk.
pub(crate) fn run_sync(arguments: &SyncArguments) -> Result<(), Failure> {
    let place = Place::find(&arguments.point)?;
    let outcome =
        ask(&place.socket, Query::Sync, None).map_err(|error| place.unanswered(&error))?;
    match outcome {
        Outcome::Failed { error } => Err(Failure::broken(format!(
            "{}: not all is safe: {error}",
            arguments.point.display()
        ))),
        Outcome::Done {} | Outcome::Discarded { .. } | Outcome::Elsewhere { .. } => Ok(()),
    }
}
