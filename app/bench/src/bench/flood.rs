//! `cargo xtask bench flood`: strangers send forged datagrams to a gateway, by which a mobile host downloads. Needs
//! root.

use std::path::PathBuf;

use clap::ValueEnum;
use rig::{Flood, Forgery, RawMobile};
use serde::Serialize;

use super::attacked::{self, Attack, Row};
use super::beside::{Beside, Sample};
use crate::failure::Failure;
use crate::hop::ENDPOINT;
use xtask::shell::Shell;

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

impl attacked::Kind for Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Random => "random bytes",
            Self::WrongMac => "initiations, wrong mac1",
            Self::Initiations => "initiations, valid mac1",
            Self::UnknownIndex => "data, unknown index",
            Self::WrongSeal => "data, known index",
        }
    }

    fn start(self, beside: &Beside, rate: u32) -> Result<Box<dyn Attack>, Failure> {
        let identity = beside.second_identity()?;
        let gateway = identity.gateway;
        let to = ENDPOINT.parse().expect("an address");
        let forgery = match self {
            Self::Random => Forgery::Random,
            Self::WrongMac => Forgery::WrongMac,
            Self::Initiations => Forgery::Initiations,
            Self::UnknownIndex => Forgery::UnknownIndex,
            Self::WrongSeal => {
                let mut raw = RawMobile::connect(&beside.attacker, to, identity)?;
                Forgery::WrongSeal(raw.index()?)
            }
        };
        let flood = Flood::start(&beside.attacker, to, forgery.datagrams(gateway), rate)?;
        Ok(Box::new(flood))
    }
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
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-flood.json")]
    json: PathBuf,
    #[command(flatten)]
    attacked: attacked::Options,
}

/// Returns the processor time for each forged datagram, in microseconds: `time` of the flooded sample, without that of
/// the same traffic in the quiet sample. What finds no room in the kernel costs nothing.
fn cost(row: &Row<Kind>, time: impl Fn(&Sample) -> f64) -> f64 {
    let (quiet, flooded) = (&row.quiet, &row.attacked);
    let spans = flooded.seconds / quiet.seconds;
    let usual = time(quiet) * spans * row.kept();
    (time(flooded) - usual) / (row.sent * flooded.seconds) * 1e6
}

fn user(row: &Row<Kind>) -> f64 {
    cost(row, |sample| sample.user_s)
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let kinds = match &options.kinds[..] {
        [] => Kind::value_variants(),
        chosen => chosen,
    };
    let header = "| kind | turn | sent/s | read/s | no room/s | user µs | system µs | download kept | request, ms |";
    let attacks = (kinds, options.rate);
    let rows = attacked::measure(shell, &options.attacked, attacks, (header, print))?;
    println!("\nMedian, least and most; the aims are 2 µs and 0.8:");
    attacked::summarize(
        kinds,
        &rows,
        &[
            ("user µs for each", 2, user),
            ("download kept", 2, Row::kept),
        ],
    );
    super::keep(shell, &options.json, &rows)
}

fn print(row: &Row<Kind>) {
    let (quiet, flooded) = (&row.quiet, &row.attacked);
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} of {:.1} Mbit/s | {:.1} (quiet {:.1}) |",
        attacked::Kind::name(row.kind),
        row.turn,
        row.sent,
        flooded.received / flooded.seconds,
        flooded.overflowed / flooded.seconds,
        user(row),
        cost(row, |sample| sample.system_s),
        row.kept(),
        quiet.goodput_bps / 1e6,
        flooded.request_median_ms,
        quiet.request_median_ms,
    );
}
