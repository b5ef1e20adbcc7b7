//! `cargo xtask bench split`: the cost of TCP across the hop for the mobile host alone, split at the gateway and not:
//! Figures 14a and 14b and Table 3 of Haas and Warkhedi 2000. It runs over `lasthop emulate`, in network namespaces,
//! and needs root and two processors. [`load`] describes how the host's share of one kernel's work is found.
//!
//! All that it creates is in its own namespaces and in memory, so that nothing remains, however it ends.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::{peers, setting};
use crate::failure::Failure;
use xtask::shell::Shell;

use self::case::{Case, Scheme};
use self::measure::{Manner, Row};

mod case;
mod check;
pub(crate) mod end;
mod load;
mod measure;
mod report;
mod rig;
mod talk;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("nft", "nftables"), ("ethtool", "ethtool")];
/// Environment variable that is set inside the namespaces; it holds the program to measure.
const INSIDE: &str = "LASTHOP_BENCH_SPLIT_PROGRAM";
/// Bytes of a transfer for comparison with the paper's; also the limit in each direction if both transfer at once.
const PAPERS: u64 = 14_600_000;
/// Loss in per cent above which transfers by TCP stand still for long.
const SLOW: f64 = 1.0;

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Transfers to the mobile host
    Down,
    /// Both directions at once, without loss
    BothWays,
}

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these parts; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    what: Vec<Part>,
    /// Transport of TCP across the hop
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "tcp,i-tcp,mtcp,mtcp-wide,mtcp-wide-lean,arq"
    )]
    schemes: Vec<Scheme>,
    /// Rates of the half-duplex air, in Mbit/s
    #[arg(long, value_delimiter = ',', default_value = "1.6,10")]
    hops: Vec<f64>,
    /// Lost packets of full length, in per cent
    #[arg(long, value_delimiter = ',', default_value = "0,0.2,1,5,10,20")]
    lost: Vec<f64>,
    /// Seeds of the losses, the same for all schemes
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// Bytes of a transfer; costs are scaled to 14.6 MB
    #[arg(long, default_value_t = PAPERS / 4, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    bytes: u64,
    /// Seconds after which a transfer ends, complete or not; half of it if at most 1 % is lost
    #[arg(long, default_value_t = 8.0)]
    limit: f64,
    /// The congestion control of the kernel's TCP
    #[arg(long, default_value = "cubic")]
    sender: String,
    /// A few short runs, to check that everything works: one seed, 0, 1 and 10 % lost, a limit of 3 s
    #[arg(long)]
    quick: bool,
    /// Measure this program instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-split.json")]
    json: PathBuf,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.what.is_empty() || self.what.contains(&part)
    }

    fn seeds(&self) -> &[u64] {
        let count = if self.quick { 1 } else { self.seeds.len() };
        &self.seeds[..count]
    }

    fn lost(&self) -> &[f64] {
        if self.quick {
            &[0.0, 1.0, 10.0]
        } else {
            &self.lost
        }
    }

    fn limit(&self, case: &Case) -> Duration {
        let whole = if self.quick { 3.0 } else { self.limit };
        let is_slow = case.lost > SLOW || case.both_ways;
        Duration::from_secs_f64(if is_slow { whole } else { whole / 2.0 })
    }

    /// Returns the cases: schemes in turns, so that other work of the machine affects them equally.
    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        let ways = [(Part::Down, false), (Part::BothWays, true)];
        for seed in self.seeds() {
            for (part, both_ways) in ways {
                for hop in self.hops.iter().filter(|_| self.wants(part)) {
                    for lost in if both_ways { &[0.0] } else { self.lost() } {
                        cases.extend(self.schemes.iter().map(|scheme| Case {
                            scheme: *scheme,
                            hop: *hop,
                            lost: *lost,
                            seed: *seed,
                            both_ways,
                        }));
                    }
                }
            }
        }
        cases
    }
}

/// Continues in new namespaces, on other processors than the mobile host's; returns at once inside them.
pub(super) fn enter(shell: &Shell, options: &Options) -> Result<(), Failure> {
    if std::env::var_os(INSIDE).is_some() {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "lasthop-bench", "/run"]);
        return Ok(shell.run(command).map(drop)?);
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if processors < 2 {
        let what = "this bench needs two processors, one for the mobile host alone";
        return Err(Failure::Found(what.into()));
    }
    peers::provide(shell, &NEEDED)?;
    let program = setting::program(shell, options.program.as_deref())?;
    let others = if processors > 2 {
        format!("0,2-{}", processors - 1)
    } else {
        "0".into()
    };
    let ourselves = setting::ourselves()?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    // Other work on the machine may delay it, and this should not be measured.
    command.args(["taskset", "-c", &others, "chrt", "--rr", "1"]);
    command.arg(ourselves).args(std::env::args_os().skip(1));
    let source = command.env(INSIDE, program).exec();
    Err(Failure::Found(format!("cannot run `unshare`: {source}")))
}

/// Measures and prints the tables.
pub(super) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = PathBuf::from(std::env::var_os(INSIDE).unwrap_or_default());
    check::run(&program)?;
    let cases = options.cases();
    let (mut rows, mut failed) = (Vec::<Row>::new(), Vec::new());
    let begun = Instant::now();
    for (number, case) in cases.iter().enumerate() {
        let what = case.describe();
        let seconds = begun.elapsed().as_secs();
        eprintln!("{} of {}, {seconds} s: {what}", number + 1, cases.len());
        let manner = Manner {
            program: &program,
            sender: &options.sender,
            bytes: if case.both_ways {
                PAPERS
            } else {
                options.bytes
            },
            limit: options.limit(case),
        };
        // The other results are useful although one failed.
        match measure::run(&manner, case) {
            Ok(row) => rows.push(row),
            Err(failure) => failed.push(format!("{what}: {failure}")),
        }
    }
    report::print(&rows, &options.schemes);
    super::keep(shell, &options.json, &rows)?;
    Failure::unless_empty(&failed)
}
