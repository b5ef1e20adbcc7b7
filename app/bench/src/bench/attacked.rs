//! A gateway under attack: measurements of a mobile host's traffic without the attack, and with it.

use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::beside::{Beside, Sample, link_file};
use super::setting;
use super::spread::{show, spread};
use crate::failure::Failure;
use crate::soak::alone::Alone;
use xtask::shell::Shell;

/// Time for the traffic to settle after a change.
const SETTLING: Duration = Duration::from_secs(1);

/// Options of such a bench.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Seconds of each measurement, with the attack and without
    #[arg(long, default_value_t = 5.0)]
    time: f64,
    /// Number of measurements of each kind
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Rate of the mobile host's link
    #[arg(long, default_value = "20 Mbit/s")]
    link_rate: String,
    #[command(flatten)]
    alone: Alone,
}

/// An attack that goes on until it is dropped.
pub(super) trait Attack {
    /// Returns the number of datagrams sent so far.
    fn sent(&self) -> u64;
}

impl Attack for rig::Flood {
    fn sent(&self) -> u64 {
        Self::sent(self)
    }
}

/// A kind of attack.
pub(super) trait Kind: Copy + PartialEq {
    /// Returns the name in tables.
    fn name(self) -> &'static str;

    /// Starts the attack beside this traffic.
    fn start(self, beside: &Beside, rate: u32) -> Result<Box<dyn Attack>, Failure>;
}

/// A measurement without the attack, and one with it.
#[derive(Debug, Serialize)]
pub(super) struct Row<K> {
    pub(super) kind: K,
    pub(super) turn: usize,
    /// Datagrams of the attack per second.
    pub(super) sent: f64,
    pub(super) quiet: Sample,
    pub(super) attacked: Sample,
}

impl<K> Row<K> {
    /// Returns the share of the download's rate that is left.
    pub(super) fn kept(&self) -> f64 {
        self.attacked.goodput_bps / self.quiet.goodput_bps
    }
}

/// The attacks of a bench, and its table.
pub(super) struct Table<'a, K> {
    pub(super) kinds: &'a [K],
    /// Rate of each attack.
    pub(super) rate: u32,
    pub(super) header: &'static str,
    /// Prints a row.
    pub(super) print: fn(&Row<K>),
}

/// Measures each kind in turns, and prints each row when it is measured.
pub(super) fn measure<K: Kind>(
    shell: &Shell,
    options: &Options,
    table: &Table<'_, K>,
) -> Result<Vec<Row<K>>, Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = setting::folder(Some("/mnt"))?;
    let link = link_file(folder.path(), &options.link_rate)?;
    let mut beside = Beside::new(folder.path(), program, &link, "")?;
    let header = table.header;
    println!("The attack and the traffic use the same processors as the gateway.\n\n{header}");
    println!("|{}", "---|".repeat(header.matches('|').count() - 1));
    let span = Duration::from_secs_f64(options.time);
    let mut rows = Vec::new();
    for turn in 1..=options.turns {
        for kind in table.kinds {
            let row = one(&mut beside, *kind, table.rate, turn, span)?;
            (table.print)(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn one<K: Kind>(
    beside: &mut Beside,
    kind: K,
    rate: u32,
    turn: usize,
    span: Duration,
) -> Result<Row<K>, Failure> {
    thread::sleep(SETTLING);
    let quiet = beside.measure(span)?;
    let attack = kind.start(beside, rate)?;
    thread::sleep(SETTLING);
    let before = attack.sent();
    let attacked = beside.measure(span)?;
    Ok(Row {
        kind,
        turn,
        sent: (attack.sent() - before) as f64 / attacked.seconds,
        quiet,
        attacked,
    })
}

/// A column of the summary: its title, its number of decimal places, and its value in a row.
pub(super) type Column<K> = (&'static str, usize, fn(&Row<K>) -> f64);

/// Prints the spread of each column over the turns of each kind.
pub(super) fn summarize<K: Kind>(kinds: &[K], rows: &[Row<K>], columns: &[Column<K>]) {
    let titles: Vec<_> = columns.iter().map(|(title, ..)| *title).collect();
    println!("\n| kind | {} |", titles.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
    for kind in kinds {
        let of_kind = || rows.iter().filter(|row| row.kind == *kind);
        let spreads = columns
            .iter()
            .map(|(_, places, value)| show(spread(of_kind().map(value)), *places));
        let spreads: Vec<_> = spreads.collect();
        println!("| {} | {} |", kind.name(), spreads.join(" | "));
    }
}
