//! `cargo xtask soak kills`: files cross a lossy hop over TCP, and a daemon at one of its ends is killed. Each file
//! arrives complete, or its receiver gets an error; none ends early without an error. Needs root.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use serde::Serialize;

use self::rig::{Rig, Victim};
use self::round::{Plan, Tally};
use super::alone::Alone;
use super::watch::{Fault, watch};
use crate::bench::peers;
use crate::failure::Failure;
use xtask::shell::Shell;

mod rig;
mod round;
mod transfer;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 1] = [("nft", "nftables")];

/// The way of TCP across the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Repaired by the link layer
    Arq,
    /// Repaired by the snoop agent
    Snoop,
    /// Split, with the kernel's TCP on the hop
    KernelTcp,
    /// Split, with MTCP as in its paper
    Mtcp,
    /// Split, with MTCP with 32-bit numbers
    MtcpWide,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Arq => "arq",
            Self::Snoop => "snoop",
            Self::KernelTcp => "kernel-tcp",
            Self::Mtcp => "mtcp",
            Self::MtcpWide => "mtcp-wide",
        }
    }

    /// Returns its lines in the gateway's configuration.
    fn lines(self) -> String {
        let name = self.name();
        if self.is_split() {
            format!("tcp = \"split\"\nsplit_transport = \"{name}\"\n")
        } else {
            format!("tcp = \"{name}\"\n")
        }
    }

    fn is_split(self) -> bool {
        !matches!(self, Self::Arq | Self::Snoop)
    }

    /// Returns true if streams of MTCP cross the hop.
    fn has_streams(self) -> bool {
        matches!(self, Self::Mtcp | Self::MtcpWide)
    }
}

/// Options of the soak.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these ways of TCP across the hop
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "arq,snoop,kernel-tcp,mtcp,mtcp-wide"
    )]
    modes: Vec<Mode>,
    /// Only these daemons
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "gateway,mobile"
    )]
    victims: Vec<Victim>,
    /// Number of times that each daemon is killed, in each mode
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Bytes of the largest file
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    size: u64,
    /// Seed of all random decisions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The emulated link of the hop, by its name or its file (`lasthop emulate`); default: 20 Mbit/s with losses
    #[arg(long)]
    link: Option<String>,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/soak-kills.json")]
    json: PathBuf,
    #[command(flatten)]
    alone: Alone,
}

/// Results of the kills of one daemon.
#[derive(Debug, Serialize)]
struct Row {
    mode: Mode,
    victim: Victim,
    seed: u64,
    seconds: f64,
    tally: Tally,
    fault: Option<Fault>,
}

/// Runs the kills, prints a table, and fails if anything was wrong.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options
        .alone
        .enter(shell, || peers::provide(shell, &NEEDED))?;
    let mut rows = Vec::new();
    for mode in &options.modes {
        let (also, failure) = soak(options, program, *mode);
        rows.extend(also);
        failure?;
    }
    print(&rows);
    crate::bench::keep(shell, &options.json, &rows)?;
    let faults = rows.iter().filter_map(|row| {
        let (fault, mode) = (row.fault.as_ref()?, row.mode.name());
        Some(format!("{mode}, {:?} killed: {fault}", row.victim))
    });
    Failure::unless_empty(&faults.collect::<Vec<_>>())
}

fn soak(options: &Options, program: &Path, mode: Mode) -> (Vec<Row>, Result<(), Failure>) {
    let mut rows = Vec::new();
    let outcome = with_rig(options, program, mode, |rig| {
        for victim in options.victims.iter().copied() {
            let row = row(options, mode, victim, rig);
            println!(
                "{}, {victim:?}: {}",
                mode.name(),
                row.fault.clone().unwrap_or_else(|| row.tally.to_string())
            );
            if row.fault.is_some() {
                println!("{}", rig.logs().text());
            }
            rows.push(row);
        }
    });
    (rows, outcome)
}

fn with_rig(
    options: &Options,
    program: &Path,
    mode: Mode,
    act: impl FnOnce(&mut Rig),
) -> Result<(), Failure> {
    let link = options.link.as_deref();
    let mut rig = Rig::new(super::folder()?, program, mode, link, options.seed)?;
    act(&mut rig);
    Ok(())
}

fn row(options: &Options, mode: Mode, victim: Victim, rig: &mut Rig) -> Row {
    let begun = Instant::now();
    let plan = Plan {
        victim,
        kills: options.kills,
        size: options.size,
        seed: options.seed,
    };
    let name = format!("{} {victim:?}", mode.name());
    let logs = rig.logs();
    let (tally, outcome) = watch(&name, || logs.text(), |done| round::run(rig, plan, done));
    Row {
        mode,
        victim,
        seed: options.seed,
        seconds: begun.elapsed().as_secs_f64(),
        tally,
        fault: outcome.err(),
    }
}

fn print(rows: &[Row]) {
    println!("\n| mode | killed | seed | s | outcome |\n|---|---|---|---|---|");
    for row in rows {
        let outcome = match &row.fault {
            Some(fault) => format!("FAULT: {}", fault.lines().next().unwrap_or_default()),
            None => row.tally.to_string(),
        };
        println!(
            "| {} | {:?} | {} | {:.0} | {outcome} |",
            row.mode.name(),
            row.victim,
            row.seed,
            row.seconds
        );
    }
}
