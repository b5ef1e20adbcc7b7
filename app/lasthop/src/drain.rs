//! `lasthop drain`: has the mobile hosts of a gateway leave it for other gateways of its site.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use hosts::{PeerSummary, SiteStatus};
use runtime::control::ask_drain;

use crate::failure::Failure;
use crate::status::{DaemonChoice, peers_of, unanswered};

const EXAMPLES: &str = "\
Examples:
  lasthop drain              the mobile hosts of this gateway go to other gateways of its site
  lasthop drain --end        they may come again

Connections go on. A mobile host that has this gateway as its home is served by another one, and its packets still go
through this one. It stays drained until `--end`, or until its daemon ends. Exit codes: 0 no mobile host is left; 2 this
is no gateway of a site, or there is no daemon; 1 some have stayed, as they know no other gateway or reach none.";

/// Time between two looks at the daemon.
const PAUSE: Duration = Duration::from_millis(100);
/// Time without a mobile host that leaves after which the rest stays: each tries one gateway for 5 s.
const PATIENCE: Duration = Duration::from_secs(15);

/// Have the mobile hosts of this gateway leave it for other gateways of its site.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Let mobile hosts come again
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    daemon: DaemonChoice,
}

/// Requests it, and waits until all have left.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let socket = arguments.daemon.socket()?;
    let mut left = served(&socket)?;
    let asked = ask_drain(&socket, !arguments.end);
    let asked = asked.map_err(|error| unanswered(&socket, &error))?;
    asked.map_err(Failure::setting)?;
    if arguments.end {
        println!("this gateway serves mobile hosts again");
        return Ok(());
    }
    let mut since = Instant::now();
    println!("mobile hosts here: {}", left.len());
    while !left.is_empty() {
        if since.elapsed() >= PATIENCE {
            return Err(Failure::broken(format!(
                "these mobile hosts have stayed, as they know no other gateway or reach none: {}",
                left.join(", ")
            )));
        }
        thread::sleep(PAUSE);
        let now = served(&socket)?;
        if now.len() < left.len() {
            since = Instant::now();
        }
        left = now;
    }
    println!("no mobile host is left here");
    Ok(())
}

/// Returns the names of the mobile hosts that the gateway serves.
fn served(socket: &Path) -> Result<Vec<String>, Failure> {
    let is_here = |peer: &PeerSummary| {
        peer.is_connected && peer.site.as_ref().is_some_and(SiteStatus::is_here)
    };
    let here = peers_of(socket)?.into_iter().filter(is_here);
    Ok(here.map(|peer| peer.name).collect())
}
