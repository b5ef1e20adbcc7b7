//! `cargo xtask bench world`: real hops, in network namespaces: a download with a small request each 100 ms beside it,
//! by TCP alone and by lasthop, optionally beside other senders' TCP. Needs root.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{peers, setting};
use crate::failure::Failure;
use crate::soak::alone::Alone;
use xtask::shell::Shell;

use self::scheme::{Beside, Scheme};

mod end;
mod plot;
mod report;
mod run;
mod scheme;

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Links: names that `lasthop emulate` knows, or TOML files with a '/' or a '.'
    #[arg(long, value_delimiter = ',', required_unless_present = "trace")]
    links: Vec<String>,
    /// A recorded link: two files in mahimahi's format, first down and then up
    #[arg(long, value_name = "DOWN,UP", value_delimiter = ',', num_args = 1)]
    trace: Vec<PathBuf>,
    /// The delay of a recorded link, each way
    #[arg(long, default_value = "20 ms")]
    delay: String,
    /// The queue of a recorded link, each way
    #[arg(long, default_value = "1000 packets")]
    queue: String,
    /// TCP connections of others that download at the same time, such as 'cubic:2,bbr:1'
    #[arg(long, value_name = "KIND:COUNT,...", value_delimiter = ',')]
    beside: Vec<Beside>,
    /// Compared schemes: 'cubic' and 'bbr' for TCP alone, 'lasthop' with a cubic sender inside, 'lasthop+bbr' with bbr
    #[arg(long, value_delimiter = ',', default_value = "cubic,bbr,lasthop")]
    schemes: Vec<Scheme>,
    /// The largest IP packet that the link's interfaces take
    #[arg(long, default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(576..=9_000))]
    mtu: u32,
    /// Seeds of all random events, the same for all schemes
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    time: u32,
    /// Seconds before them
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=600))]
    skip: u32,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-world.json")]
    json: PathBuf,
    /// Draw the plane of goodput and delay, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    alone: Alone,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    link: String,
    scheme: String,
    seed: u64,
    seconds: u32,
    /// Goodput of the download, in bits per second.
    goodput_bps: f64,
    /// Delays of small requests, and their number.
    request_median_ms: f64,
    request_p95_ms: f64,
    requests: usize,
    /// Packets offered to the link's queue on the way down, and those that it dropped, from the start.
    offered_packets: f64,
    dropped_packets: f64,
    /// Goodput of each of the others, in bits per second.
    rivals_bps: Vec<f64>,
    rivals: Vec<String>,
    /// Deadlines that the emulator missed by more than 2 ms.
    late: u64,
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = setting::folder(None)?;
    let links = links(shell, options, folder.path())?;
    let runs = links.len() * options.seeds.len() * options.schemes.len();
    for (_, link) in &links {
        run::check(program, link)?;
    }
    let mut rows = Vec::new();
    // Schemes in turns, so that other work of the machine affects them equally.
    for (name, link) in &links {
        for seed in &options.seeds {
            for scheme in &options.schemes {
                let number = rows.len() + 1;
                eprintln!("{number} of {runs}: {}, {name}, seed {seed}", scheme.name());
                let case = run::Case {
                    name,
                    link,
                    scheme,
                    seed: *seed,
                };
                rows.push(run::measure(program, options, &case)?);
            }
        }
    }
    report::print(&rows);
    if let Some(path) = &options.plot {
        let path = shell.root.join(path);
        plot::draw(&rows, &path)
            .map_err(|error| Failure::Found(format!("cannot draw {}: {error}", path.display())))?;
    }
    super::keep(shell, &options.json, &rows)
}

/// Returns every link: its name, and its form for the emulator.
fn links(
    shell: &Shell,
    options: &Options,
    folder: &Path,
) -> Result<Vec<(String, String)>, Failure> {
    let place = |link: &String| {
        if link.contains(['/', '.']) {
            let path = shell.root.join(link);
            (link.clone(), path.display().to_string())
        } else {
            (link.clone(), link.clone())
        }
    };
    let mut links: Vec<_> = options.links.iter().map(place).collect();
    if options.trace.is_empty() {
        return Ok(links);
    }
    let [down, up] = options.trace.as_slice() else {
        let what = "--trace takes two files, as in '--trace lte.down,lte.up'";
        return Err(Failure::Found(what.into()));
    };
    let mut text = String::new();
    for (way, file) in [("down", down), ("up", up)] {
        let from = shell.root.join(file);
        fs::copy(&from, folder.join(way)).map_err(|error| {
            Failure::Found(format!("cannot read the trace {}: {error}", from.display()))
        })?;
        let (delay, queue) = (&options.delay, &options.queue);
        let _ = writeln!(
            text,
            "[{way}]\nmahimahi = '{way}'\ndelay = '{delay}'\nqueue = '{queue}'"
        );
    }
    let path = folder.join("trace.toml");
    peers::write(&path, &text)?;
    let name = down.file_stem().unwrap_or(down.as_os_str());
    links.push((name.to_string_lossy().into(), path.display().to_string()));
    Ok(links)
}
