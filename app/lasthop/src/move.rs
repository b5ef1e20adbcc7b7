//! `lasthop move`: has a mobile host be served by another gateway of its site.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use hosts::{PeerSummary, SiteStatus};
use runtime::control::{ask_comparison, ask_move};

use crate::failure::Failure;
use crate::status::{DaemonChoice, peers_of, unanswered};

const EXAMPLES: &str = "\
Examples:
  lasthop move west          the gateway 'west' serves this mobile host from now on
  lasthop move               lasthop chooses: it compares the gateways while there is traffic, and moves to a better one
  lasthop status             which gateways there are, and which one serves

The gateways are those of which its home has told this mobile host, and those of its configuration. Connections go on:
packets that the former gateway has not delivered follow. A gateway that is named here serves as long as it answers and
is not drained; then lasthop chooses again, as it does after a start. Exit codes: 0 it serves, or lasthop chooses;
2 there is no such gateway, or no daemon; 1 it did not answer, and the former gateway goes on.";

/// Time between two looks at the daemon.
const PAUSE: Duration = Duration::from_millis(20);
/// Time after which the daemon has given a move up.
const PATIENCE: Duration = Duration::from_secs(7);

/// Have another gateway of the site serve this mobile host.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name of the gateway; without it, lasthop chooses again
    gateway: Option<String>,
    #[command(flatten)]
    daemon: DaemonChoice,
}

/// Requests the move, and waits for its end.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let socket = arguments.daemon.socket()?;
    let Some(gateway) = &arguments.gateway else {
        let compares = ask_comparison(&socket).map_err(|error| unanswered(&socket, &error))?;
        compares.map_err(Failure::setting)?;
        println!("lasthop chooses the gateway of this host again");
        return Ok(());
    };
    let serves = || -> Result<Option<String>, Failure> {
        let peers = peers_of(&socket)?;
        let with = |site| peers.iter().find(|peer| peer.site.as_ref() == Some(&site));
        let serves = with(SiteStatus::Relays).or_else(|| with(SiteStatus::Serves));
        Ok(serves.map(|peer: &PeerSummary| peer.name.clone()))
    };
    let former = serves()?;
    let asked = ask_move(&socket, gateway).map_err(|error| unanswered(&socket, &error))?;
    asked.map_err(|error| Failure::setting(format!("{error}; `lasthop status` lists them")))?;
    if former.as_ref() == Some(gateway) {
        println!("{gateway} serves this host already");
        return Ok(());
    }
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if serves()?.as_ref() == Some(gateway) {
            println!("{gateway} serves this host now");
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    let former = former.map_or_else(String::new, |name| format!("; {name} goes on"));
    Err(Failure::broken(format!(
        "{gateway} has not answered{former}"
    )))
}
