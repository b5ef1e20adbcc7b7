//! `lasthop announce`: tells a mobile host that its hop is about to change.

use clap::Args;
use runtime::control::{ANNOUNCED_MOST, announce_handoff};
use units::Duration;

use crate::failure::Failure;
use crate::status::{DaemonChoice, unanswered};

const EXAMPLES: &str = "\
Examples:
  lasthop announce                        the modem changes its cell now
  lasthop announce --in '500 ms'          it does so in half a second
  lasthop announce --in '2 s' west        only the hop to the gateway 'west' is about to be lost

For the driver of a modem, or a program that knows a train's tunnels. In a site with several gateways another one serves
this mobile host from now on, the first that answers; without one that does, all stays as it is. Programs that subscribe
to signals are told (`lasthop signals`). A gateway whose hop is announced as lost is not chosen for a minute, unless no
other one answers. Exit codes: 0 the daemon knows; 2 this is no mobile host, there is no such gateway, or no daemon.";

/// Announce that the hop of this mobile host is about to change or to end.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Time until then, such as '500 ms', at most a minute [default: now]
    #[arg(long = "in", value_name = "TIME")]
    within: Option<Duration>,
    /// The gateway of the site at the other end of that hop [default: the present one]
    gateway: Option<String>,
    #[command(flatten)]
    daemon: DaemonChoice,
}

/// Tells the daemon.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let within = arguments.within.unwrap_or(Duration::ZERO);
    if within > ANNOUNCED_MOST {
        return Err(Failure::setting(format!(
            "a hand-off is announced at most {ANNOUNCED_MOST} ahead; this one is in {within}"
        )));
    }
    let socket = arguments.daemon.socket()?;
    let told = announce_handoff(&socket, within, arguments.gateway.as_deref());
    let told = told.map_err(|error| unanswered(&socket, &error))?;
    told.map_err(Failure::setting)
}
