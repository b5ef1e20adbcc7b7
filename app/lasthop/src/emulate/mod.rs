//! `lasthop emulate`: a link in real time between two TUN interfaces, if you have no radio.
//!
//! Packets enter the left interface and leave the right one as the air would have passed them ("down"), or the reverse
//! ("up"). A byte on the wire is a byte of the Ethernet frame. With several right sides, all are on one air.

mod alarm;
mod announce;
mod cell;
#[cfg(test)]
mod cell_tests;
mod clockwork;
mod error;
mod faults;
mod members;
mod relay;
#[cfg(test)]
mod relay_tests;
mod report;
mod side;

use std::path::{Path, PathBuf};

use channel::{Link, PerDirection};
use edges::clock;
use edges::signals::{Signal, Signals};
use edges::tun::TunDevice;
use units::{Duration, Instant};

use crate::failure::Failure;
use crate::links;
use announce::{Announcements, OutageSchedule};
use cell::Cell;
use clockwork::LinkClock;
use error::{EmulateError, RelayError};
pub(crate) use members::ErrorsOf;
use members::Plan;
use relay::Relay;
pub(crate) use report::{DirectionReport, Report};
use side::SideSpec;

/// Emulate a link in real time between two interfaces.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The link: one of the names below, or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) link: String,
    /// The gateway's side.
    #[arg(
        help = "The gateway's side: [netns:NAME,]DEVICE[,ADDRESS/PREFIX]..., or 'stdin' for an open device",
        long,
        value_name = "SPEC",
        default_value = "air-left"
    )]
    pub(crate) left: SideSpec,
    /// The mobile host's side, likewise, or 'stdout' for an open device. Given several times, all are on one air: one
    /// queue at the gateway, fades of its own for each (the same for the same number and seed, however many there
    /// are), and a packet from the left goes to the one whose ADDRESS it is for
    #[arg(long, value_name = "SPEC", default_value = "air-right")]
    pub(crate) right: Vec<SideSpec>,
    /// The errors that one of several right sides, counted from 1, meets: those of this link, and nothing else of it
    #[arg(long, value_name = "N=NAME|FILE")]
    pub(crate) errors: Vec<ErrorsOf>,
    #[command(flatten)]
    faults: faults::FaultOptions,
    /// The seed of every loss and every fade
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The file for the counters, as JSON, at the start, on SIGUSR1 and at the end [default: stdout, not
    /// at the start]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// End after this time, such as '90 s' [default: on SIGTERM or Ctrl-C]
    #[arg(long)]
    pub(crate) duration: Option<Duration>,
    /// The MTU of the interfaces, in bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u32).range(68..=65_535))]
    pub(crate) mtu: u32,
    /// Report outages on a socket at this path, as a daemon does: `lasthop signals --socket FILE` shows them
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Also announce each outage this long before it, such as '500 ms', as a hand-off
    #[arg(long, value_name = "TIME", requires = "signals")]
    pub(crate) announce: Option<Duration>,
}

/// Emulates a link until a signal ends it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    Ok(emulate(arguments)?)
}

fn emulate(arguments: &Arguments) -> Result<(), EmulateError> {
    let link = links::choose(&arguments.link)?.with_faults(&arguments.faults.changes());
    let link = link.map_err(EmulateError::Faults)?;
    let inherits = arguments.right.iter().any(SideSpec::is_inherited);
    if arguments.json.is_none() && inherits {
        return Err(EmulateError::NoReport);
    }
    let plan = members::plan(arguments, &link)?;
    let mut signals = Signals::catch().map_err(EmulateError::Signals)?;
    if arguments.left.is_inherited() || inherits {
        end_with_parent().map_err(EmulateError::Signals)?;
    }
    let mut air = open(arguments, &link, plan)?;
    let origin = air.clockwork().origin();
    let _announcements = announce(arguments, &link, origin)?;
    hurry();
    air.clockwork().watch(&signals)?;
    let until = arguments.duration.map(|duration| origin + duration);
    if let Some(path) = &arguments.json {
        write(air.report(false), Some(path))?;
    }
    loop {
        let signalled = air.step(until)?;
        let ended = until.is_some_and(|until| clock::monotonic() >= until);
        match signalled.then(|| wish(&mut signals)).flatten() {
            Some(SignalRequest::Report) => write(air.report(false), arguments.json.as_deref())?,
            Some(SignalRequest::End) => break,
            None if ended => break,
            None => {}
        }
    }
    write(air.report(true), arguments.json.as_deref())
}

/// The emulated network.
enum Air {
    Pair(Box<Relay<TunDevice>>),
    Shared(Box<Cell<TunDevice>>),
}

impl Air {
    fn clockwork(&self) -> &LinkClock {
        match self {
            Self::Pair(relay) => relay.clockwork(),
            Self::Shared(cell) => cell.clockwork(),
        }
    }

    fn step(&mut self, limit: Option<Instant>) -> Result<bool, RelayError> {
        match self {
            Self::Pair(relay) => relay.step(limit),
            Self::Shared(cell) => cell.step(limit),
        }
    }

    /// Returns the counters, as JSON.
    fn report(&self, ended: bool) -> String {
        match self {
            Self::Pair(relay) => report::to_json(&relay.report(ended)),
            Self::Shared(cell) => report::to_json(&cell.report(ended)),
        }
    }
}

/// Creates the devices, and the air between them.
fn open(arguments: &Arguments, link: &Link, plan: Plan) -> Result<Air, EmulateError> {
    let (seed, mtu) = (arguments.seed, arguments.mtu);
    let left = arguments.left.open(mtu)?;
    Ok(match plan {
        Plan::Pair(right) => {
            let devices = PerDirection {
                down: left,
                up: right.open(mtu)?,
            };
            Air::Pair(Box::new(Relay::new(link, seed, devices, mtu as usize)?))
        }
        Plan::Shared(members) => {
            let members = members.into_iter().map(|member| member.open(mtu));
            let members = members.collect::<Result<_, _>>()?;
            let cell = Cell::new(link, seed, left, members, mtu as usize)?;
            Air::Shared(Box::new(cell))
        }
    })
}

/// Publishes outages, if requested, for as long as the result lives. The thread of the result must not end first.
fn announce(
    arguments: &Arguments,
    link: &Link,
    origin: Instant,
) -> Result<Option<Announcements>, EmulateError> {
    let start = |path: &PathBuf| {
        let outlook = OutageSchedule::new(link, arguments.seed, origin, arguments.announce);
        Announcements::start(path, outlook)
    };
    let started = arguments.signals.as_ref().map(start).transpose();
    started.map_err(EmulateError::Announce)
}

/// The request of a signal; an end takes precedence over a report.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SignalRequest {
    Report,
    End,
}

/// Returns the request of the signals that arrived.
fn wish(signals: &mut Signals) -> Option<SignalRequest> {
    let wishes = signals.pending().map(|signal| match signal {
        Signal::User1 => SignalRequest::Report,
        Signal::Terminate | Signal::Interrupt | Signal::HangUp => SignalRequest::End,
    });
    wishes.max()
}

/// Ends this process with its parent, without which an inherited device is useless.
fn end_with_parent() -> std::io::Result<()> {
    let signal = rustix::process::Signal::TERM;
    Ok(rustix::process::set_parent_process_death_signal(Some(
        signal,
    ))?)
}

/// Raises the priority of this process if it may, because a packet that waits for the processor is late. If it may not,
/// its report shows the delays.
fn hurry() {
    if edges::process::go_first().is_err() {
        let _ = rustix::process::setpriority_process(None, -20);
    }
    let _ = edges::wait::sharpen_timers();
}

/// Writes a report atomically, so that a reader never sees half of one.
fn write(text: String, path: Option<&Path>) -> Result<(), EmulateError> {
    let Some(path) = path else {
        println!("{text}");
        return Ok(());
    };
    let failed = |source| EmulateError::Report {
        path: path.into(),
        source,
    };
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    std::fs::write(&partial, text + "\n").map_err(failed)?;
    std::fs::rename(&partial, path).map_err(failed)
}
