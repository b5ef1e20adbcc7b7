//! `lasthop demo`: a real file over real kernel TCP across a fading link, alone and through lasthop.

mod addresses;
mod bound;
mod children;
mod content;
mod daemons;
mod echo;
mod error;
mod http;
mod measure;
mod meter;
mod network;
mod peer;
mod plan;
mod plot;
mod progress;
mod report;
mod row;
mod site;
mod socket;

use std::path::PathBuf;

use channel::{Link, Rate};
use clap::Args;
use edges::namespace::{Namespace, NamespaceError, enter_user_namespace};
use edges::signals::Signals;
use units::{Bytes, Duration, Instant};

use crate::failure::Failure;
use crate::links;
use error::DemoError;
use network::Network;
use plan::{Environment, RunPlan, RunResult, Scheme, TransferDirection};
use report::Report;
use row::Row;

/// Duration of a transfer of the default size on an ideal link.
const USUAL_TIME: Duration = Duration::from_secs(10);
const LEAST_SIZE: Bytes = Bytes::mebi(1);
const MOST_SIZE: Bytes = Bytes::mebi(512);

/// Fetch a real file across a fading link, by TCP alone and through lasthop, and compare.
///
/// Builds four hosts on this machine: mobile, air, gateway and fixed host, in network namespaces; with --site a mobile
/// host, three gateways and a fixed host. It needs root or an unprivileged user namespace, and /dev/net/tun.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The link: one of the names below, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "l2-b160")]
    link: String,
    /// The size of the file, such as '20 MB' [default: what the link carries in 10 s]
    #[arg(long)]
    size: Option<Bytes>,
    /// The time limit of a transfer
    #[arg(long, default_value = "45 s")]
    time: Duration,
    /// The time at the beginning that is left out of the figures
    #[arg(long, default_value = "0 s")]
    skip: Duration,
    /// The seed of every loss, every fade and the file's content
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The compared schemes: plain (TCP alone), lasthop, lasthop with the snoop agent in place of its own
    /// repair (snoop), with TCP split at the gateway (split), with either as it chooses (auto) or without any repair
    /// (tunnel), or the TOML file of another tunnel
    #[arg(
        long,
        value_name = "NAME|FILE",
        value_delimiter = ',',
        default_value = "plain,lasthop",
        value_parser = Scheme::choose
    )]
    schemes: Vec<Scheme>,
    /// The senders' congestion controls, such as 'reno,cubic,bbr'
    #[arg(long, value_delimiter = ',', default_value = "cubic")]
    senders: Vec<String>,
    /// The direction of the file, seen from the mobile host
    #[arg(long, value_enum, default_value = "down")]
    direction: TransferDirection,
    /// Play one download while three gateways hand its mobile host over to each other, and plot its pauses
    #[arg(long, conflicts_with_all = ["link", "skip", "schemes", "direction"])]
    site: bool,
    /// The folder of the plot and the figures
    #[arg(long, value_name = "DIR", default_value = "lasthop-demo")]
    report: PathBuf,
    /// Print the figures as JSON, and no progress
    #[arg(long)]
    json: bool,
}

/// Runs every requested comparison.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.site {
        return site::run(arguments);
    }
    let plans = plans(arguments)?;
    let report = Report::in_folder(&arguments.report)?;
    let results = compare(&plans, !arguments.json)?;
    let rows: Vec<_> = results.iter().flat_map(Row::of).collect();
    let wrong = rows.iter().find(|row| !row.sha256_ok);
    let json = serde_json::to_string_pretty(&rows).expect("rows are numbers and words under names");
    report.write(&results, &json)?;
    if arguments.json {
        println!("{json}");
    } else {
        println!("\n{}", row::table(&rows));
        println!("share: goodput over what the link could carry");
        if !arguments.skip.is_zero() {
            println!("goodput and share without the first {}", arguments.skip);
        }
        println!("plot: {}", report.plot().display());
    }
    match wrong {
        None => Ok(()),
        Some(row) => {
            let why = row
                .failure
                .as_deref()
                .unwrap_or(match row.goodput.payload_bytes {
                    0 => "no byte of it arrived in the given time; see --time",
                    _ => "its SHA-256 differs",
                });
            Err(Failure::broken(format!(
                "the file did not arrive intact ({}, {}): {why}",
                row.scheme, row.sender
            )))
        }
    }
}

fn compare(plans: &[RunPlan], is_shown: bool) -> Result<Vec<RunResult>, DemoError> {
    // A user namespace must be entered before there are threads, so this comes first.
    gain_privilege()?;
    let mut signals = Signals::catch().map_err(DemoError::failed("catch signals"))?;
    let folder = tempfile::tempdir().map_err(DemoError::failed("make a temporary folder"))?;
    let machinery = Environment {
        program: std::env::current_exe().map_err(DemoError::failed("find this program"))?,
        folder: folder.path().into(),
    };
    if is_shown {
        let link = &plans[0].link;
        println!("{}: {}", link.name(), link.description());
        println!("{}", Network::build(&Scheme::Plain)?.buffers()?);
    }
    let mut results = Vec::new();
    for plan in plans {
        let line = progress::Line::new(plan, is_shown);
        let mut observer = |progress| line.show(progress, &mut signals);
        results.push(measure::measure(plan, &machinery, &mut observer)?);
    }
    Ok(results)
}

/// Returns one run for each scheme and sender.
fn plans(arguments: &Arguments) -> Result<Vec<RunPlan>, DemoError> {
    let link = links::choose(&arguments.link)?;
    let known = socket::congestion_controls();
    if let Some(name) = arguments.senders.iter().find(|name| !known.contains(name)) {
        return Err(DemoError::NoSender {
            name: name.clone(),
            known: known.join(", "),
        });
    }
    let size = arguments
        .size
        .unwrap_or_else(|| usual_size(&link, arguments.direction));
    let pairs = arguments.senders.iter().flat_map(|sender| {
        arguments
            .schemes
            .iter()
            .map(move |scheme| (sender.clone(), scheme.clone()))
    });
    let plan = |(sender, scheme)| RunPlan {
        link: link.clone(),
        link_choice: arguments.link.clone(),
        seed: arguments.seed,
        scheme,
        sender,
        way: arguments.direction,
        size,
        time: arguments.time,
        skip: arguments.skip,
    };
    Ok(pairs.map(plan).collect())
}

/// Returns the bytes that the link carries in the default time, in its slower direction, in whole MiB.
fn usual_size(link: &Link, way: TransferDirection) -> Bytes {
    let carried = way.directions().iter().map(|direction| {
        let (step, _) = link.plan(*direction).at(Instant::ZERO);
        match step.rate {
            Rate::Limited(rate) => rate.bytes_in(USUAL_TIME),
            Rate::Unlimited => MOST_SIZE,
        }
    });
    let size = carried.min().unwrap_or(LEAST_SIZE).get() >> 20;
    Bytes::mebi(size).clamp(LEAST_SIZE, MOST_SIZE)
}

/// Becomes root in a user namespace if the process cannot create network namespaces already.
fn gain_privilege() -> Result<(), DemoError> {
    match Namespace::create() {
        Ok(_) => Ok(()),
        Err(NamespaceError::CreationNotPermitted) => Ok(enter_user_namespace()?),
        Err(error) => Err(error.into()),
    }
}
