//! `cargo xtask bench air`: one gateway and many mobile hosts on one emulated air that fades, in network namespaces: by
//! TCP alone, and by lasthop with each discipline. Needs root.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;

use super::{peers, setting};
use crate::failure::Failure;
use xtask::shell::Shell;

use self::cell::Cell;
use self::row::{Case, Row};

mod cell;
mod report;
mod row;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("ss", "iproute2"), ("iperf3", "iperf3")];
/// Scheme of TCP without lasthop.
const PLAIN: &str = "no lasthop";
/// Scheme of lasthop with a separate hop for each mobile host.
const UNSHARED: &str = "not shared";
/// Schemes compared by default.
const USUAL: &str = "no lasthop,not shared,fifo,round-robin-deferring,csdp-round-robin,airtime,\
    airtime+acknowledgements";

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of mobile hosts
    #[arg(long, default_value_t = 8, value_parser = RangedU64ValueParser::<usize>::new().range(2..=200))]
    mobiles: usize,
    /// Number of mobile hosts that fetch; all by default
    #[arg(long)]
    active: Option<usize>,
    /// 'no lasthop', 'not shared', or a discipline of the gateway; its monitor may follow, as in 'airtime+probing'
    #[arg(
        long,
        value_delimiter = ',',
        default_value = USUAL
    )]
    schemes: Vec<String>,
    /// The errors of the air
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "fading,good,half"
    )]
    cases: Vec<Case>,
    /// Seeds of the fades, the same for all schemes
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    seeds: Vec<u64>,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    time: u32,
    /// Seconds before them
    #[arg(long, default_value_t = 6)]
    skip: u32,
    /// Measure this program instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-air.json")]
    json: PathBuf,
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    peers::provide(shell, &NEEDED)?;
    let program = setting::program(shell, options.program.as_deref())?;
    let runs = options.seeds.len() * options.cases.len() * options.schemes.len();
    let mut rows = Vec::new();
    // Schemes in turns, so that other work of the machine affects them equally.
    for seed in &options.seeds {
        for case in &options.cases {
            for scheme in &options.schemes {
                let name = case.name();
                eprintln!(
                    "{} of {runs}: {scheme}, {name}, seed {seed}",
                    rows.len() + 1
                );
                rows.push(measure(&program, options, scheme, *case, *seed)?);
            }
        }
    }
    report::print(&rows, &options.schemes);
    super::keep(shell, &options.json, &rows)
}

/// Measures one run.
fn measure(
    program: &std::path::Path,
    options: &Options,
    scheme: &str,
    case: Case,
    seed: u64,
) -> Result<Row, Failure> {
    let folder = setting::folder(None)?;
    let sharing = match scheme {
        PLAIN | UNSHARED => String::new(),
        shared => sharing(shared),
    };
    let errors = case.errors(options.mobiles);
    let mut cell = Cell::new(folder.path(), program, &errors, seed, &sharing)?;
    let is_tunnel = scheme != PLAIN;
    if is_tunnel {
        cell.start_daemons()?;
    }
    let active = options
        .active
        .unwrap_or(options.mobiles)
        .min(options.mobiles);
    let fetched = cell.fetch(active, is_tunnel, options.skip, options.time)?;
    Ok(Row {
        scheme: scheme.into(),
        case,
        seed,
        mobiles: options.mobiles,
        seconds: options.time.into(),
        goodput_bps: fetched.goodput_bps,
        airtime: fetched.airtime,
        good: fetched.good,
        up: fetched.up,
        lost: fetched.lost,
        rates_bps: fetched.rates_bps,
        late: fetched.late,
    })
}

/// Returns the part of the gateway's configuration for that scheme.
fn sharing(scheme: &str) -> String {
    let (discipline, monitor) = match scheme.split_once('+') {
        Some((discipline, monitor)) => (discipline, format!("monitor = {{ {monitor} = {{}} }}\n")),
        None => (scheme, String::new()),
    };
    format!("[air]\nshared = true\ndiscipline = \"{discipline}\"\n{monitor}")
}
