//! `cargo xtask bench flood`: strangers send forged datagrams to a gateway, by which a mobile host downloads. Needs
//! root.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use rig::{Flood, Forgery, RawIdentity, RawMobile};
use serde::Serialize;

use super::beside::{Beside, Sample, link_file};
use super::spread::{show, spread};
use super::{peers, setting};
use crate::failure::Failure;
use crate::hop::ENDPOINT;
use xtask::shell::Shell;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 1] = [("unshare", "util-linux")];
/// Time for the traffic to settle after a change.
const SETTLING: Duration = Duration::from_secs(1);

/// A kind of forged datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// Random bytes
    Random,
    /// Initiations with a wrong mac1
    WrongMac,
    /// Initiations with a valid mac1, of hosts that the gateway does not know
    Initiations,
    /// Data for an index that is not in use
    UnknownIndex,
    /// Data for an index in use, with a wrong seal
    WrongSeal,
}

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Forged datagrams per second
    #[arg(long, default_value_t = 100_000)]
    rate: u32,
    /// Kinds of forged datagrams; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// Seconds of each measurement, with the flood and without
    #[arg(long, default_value_t = 5.0)]
    time: f64,
    /// Number of measurements of each kind
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Rate of the mobile host's link
    #[arg(long, default_value = "20 Mbit/s")]
    link_rate: String,
    /// Measure this program instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-flood.json")]
    json: PathBuf,
    /// The program, for a process that runs in its own namespaces
    #[arg(long, hide = true)]
    alone: Option<PathBuf>,
}

/// A measurement without a flood, and one with it.
#[derive(Debug, Serialize)]
struct Row {
    kind: Kind,
    turn: usize,
    /// Forged datagrams per second that were sent.
    sent: f64,
    quiet: Sample,
    flooded: Sample,
}

impl Row {
    /// Returns the share of the download's rate that is left.
    fn kept(&self) -> f64 {
        self.flooded.goodput_bps / self.quiet.goodput_bps
    }

    /// Returns the processor time for each forged datagram, in microseconds: `time` of the flooded sample, without that
    /// of the same traffic in the quiet sample. What finds no room in the kernel costs nothing.
    fn cost(&self, time: impl Fn(&Sample) -> f64) -> f64 {
        let (quiet, flooded) = (&self.quiet, &self.flooded);
        let spans = flooded.seconds / quiet.seconds;
        let usual = time(quiet) * spans * self.kept();
        (time(flooded) - usual) / (self.sent * flooded.seconds) * 1e6
    }
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let Some(program) = &options.alone else {
        peers::provide(shell, &NEEDED)?;
        let program = setting::program(shell, options.program.as_deref())?;
        return Err(crate::soak::alone::become_alone(&["--alone"], &program));
    };
    println!("{}\n", setting::describe(shell)?);
    let folder = setting::folder(Some("/mnt"))?;
    let link = link_file(folder.path(), &options.link_rate)?;
    let mut beside = Beside::new(folder.path(), program, &link, "")?;
    let kinds = match &options.kinds[..] {
        [] => Kind::value_variants(),
        chosen => chosen,
    };
    let mut rows = Vec::new();
    println!("The flood and the traffic use the same processors as the gateway.\n");
    println!(
        "| kind | turn | sent/s | read/s | no room/s | user µs | system µs | download kept | request, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for turn in 1..=options.turns {
        for kind in kinds {
            let row = measure(&mut beside, *kind, turn, options)?;
            print(&row);
            rows.push(row);
        }
    }
    summarize(kinds, &rows);
    super::keep(shell, &options.json, &rows)
}

fn measure(
    beside: &mut Beside,
    kind: Kind,
    turn: usize,
    options: &Options,
) -> Result<Row, Failure> {
    let span = Duration::from_secs_f64(options.time);
    let key = beside.gateway_key()?;
    let unreadable = |_| Failure::Found("the gateway's key cannot be read".into());
    let gateway = key.parse().map_err(unreadable)?;
    let to = ENDPOINT.parse().expect("an address");
    let forgery = match kind {
        Kind::Random => Forgery::Random,
        Kind::WrongMac => Forgery::WrongMac,
        Kind::Initiations => Forgery::Initiations,
        Kind::UnknownIndex => Forgery::UnknownIndex,
        Kind::WrongSeal => {
            let path = beside.hop.path("mobile2.key");
            let identity = RawIdentity::of_file(&path, gateway)?;
            let mut raw = RawMobile::connect(&beside.attacker, to, identity)?;
            Forgery::WrongSeal(raw.index()?)
        }
    };
    thread::sleep(SETTLING);
    let quiet = beside.measure(span)?;
    let flood = Flood::start(
        &beside.attacker,
        to,
        forgery.datagrams(gateway),
        options.rate,
    )?;
    thread::sleep(SETTLING);
    let before = flood.sent();
    let flooded = beside.measure(span)?;
    let sent = (flood.sent() - before) as f64 / flooded.seconds;
    Ok(Row {
        kind,
        turn,
        sent,
        quiet,
        flooded,
    })
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Random => "random bytes",
        Kind::WrongMac => "initiations, wrong mac1",
        Kind::Initiations => "initiations, valid mac1",
        Kind::UnknownIndex => "data, unknown index",
        Kind::WrongSeal => "data, known index",
    }
}

fn print(row: &Row) {
    let (quiet, flooded) = (&row.quiet, &row.flooded);
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} of {:.1} Mbit/s | {:.1} (quiet {:.1}) |",
        name(row.kind),
        row.turn,
        row.sent,
        flooded.received / flooded.seconds,
        flooded.overflowed / flooded.seconds,
        row.cost(|sample| sample.user_s),
        row.cost(|sample| sample.system_s),
        row.kept(),
        quiet.goodput_bps / 1e6,
        flooded.request_median_ms,
        quiet.request_median_ms,
    );
}

fn summarize(kinds: &[Kind], rows: &[Row]) {
    println!("\nMedian, least and most; the aims are 2 µs and 0.8:\n");
    println!("| kind | user µs for each | download kept |\n|---|---|---|");
    for kind in kinds {
        let of = || rows.iter().filter(|row| row.kind == *kind);
        let user = of().map(|row| row.cost(|sample| sample.user_s));
        println!(
            "| {} | {} | {} |",
            name(*kind),
            show(spread(user), 2),
            show(spread(of().map(Row::kept)), 2),
        );
    }
}
