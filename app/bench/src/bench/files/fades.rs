//! Files through a fading emulated link, over UDP.

use super::copy::{self, Client, Direction};
use super::row::Row;
use super::service;
use super::{Measured, folder_in_memory};
use crate::bench::spread::{show, spread};
use crate::bench::{parallel, peers};
use crate::failure::Failure;
use crate::hop::{GATEWAY, Hop, INSIDE};
use rig::{Air, Directories, Ganesha};
use serde_json::Value;

const SIZES: [u64; 2] = [1_000_000, 20_000_000];

/// A scheme of copying.
struct Scheme {
    name: &'static str,
    policy: &'static str,
    /// True if the daemons repair the hop.
    repaired: bool,
}

const SCHEMES: [Scheme; 5] = [
    scheme("exponential", "exponential", false),
    scheme("hybrid linear", "hybrid-linear", false),
    scheme("adaptive", "adaptive", false),
    scheme("hybrid linear + link repair", "hybrid-linear", true),
    scheme("adaptive + link repair", "adaptive", true),
];

const fn scheme(name: &'static str, policy: &'static str, repaired: bool) -> Scheme {
    Scheme {
        name,
        policy,
        repaired,
    }
}

/// Options of the fading links.
#[derive(clap::Args)]
#[group(id = "fading")]
pub(crate) struct Options {
    /// Seeds of the fades; each run is repeated with each of them
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// Copy the 20 MB files with every seed, and without link repair too, which takes hours
    #[arg(long)]
    full: bool,
    /// Leave out the 20 MB files
    #[arg(long, conflicts_with = "full")]
    brief: bool,
    /// Only these schemes, such as 'adaptive,adaptive + link repair'
    #[arg(long, value_delimiter = ',')]
    schemes: Vec<String>,
    /// Only these mean fades, in milliseconds; without 0 there is no baseline
    #[arg(long, value_delimiter = ',', default_value = "0,40,80,160")]
    fades: Vec<u32>,
    /// Options for our client beside its retransmission policy, such as '--block 4096'
    #[arg(
        long,
        value_name = "OPTIONS",
        allow_hyphen_values = true,
        default_value = ""
    )]
    client: String,
    /// Nanoseconds per byte of the slow server; the default gives the papers' reads without errors: 30 s for 1 MB
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..))]
    per_byte: u64,
    /// Number of links measured at the same time
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
}

/// The limit of the speed of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// The air: time lost in fades cannot be made up for.
    Air,
    /// The server: time lost in fades can be made up for.
    Server,
}

/// One copy.
struct Case {
    scheme: &'static Scheme,
    fade_ms: u32,
    way: Direction,
    bytes: u64,
    seed: u64,
    /// Time per byte of the server, in nanoseconds.
    per_byte: u64,
}

/// Measures and prints the table; failures are reported and left out.
pub(super) fn run(measured: &Measured) -> Result<Vec<Row>, Failure> {
    println!("## Files through 1 Mbit/s that fades, over UDP\n");
    all(measured, &cases(&measured.options.fades), Limit::Air)
}

/// As [`run`], for a slow server: 1 MB, with link repair.
pub(super) fn run_served(measured: &Measured) -> Result<Vec<Row>, Failure> {
    let options = &measured.options.fades;
    let microseconds = options.per_byte as f64 / 1e3;
    println!("## The same from a server that takes {microseconds} us for a byte\n");
    let mut cases = cases(options);
    cases.retain(|case| case.bytes == SIZES[0] && case.scheme.repaired);
    for case in &mut cases {
        case.per_byte = options.per_byte;
    }
    all(measured, &cases, Limit::Server)
}

/// Measures these copies, several at the same time.
fn all(measured: &Measured, cases: &[Case], limit: Limit) -> Result<Vec<Row>, Failure> {
    let options = &measured.options.fades;
    if cases.is_empty() {
        let known = SCHEMES.map(|scheme| scheme.name).join(", ");
        return Err(Failure::Found(format!(
            "no such scheme; there are: {known}"
        )));
    }
    let results = parallel::each(cases, options.at_once.into(), |_, case| {
        measure(measured, case).map_err(|failure| format!("{}: {failure}", case.name()))
    });
    let (rows, failures): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let rows: Vec<_> = rows.into_iter().filter_map(Result::ok).collect();
    print(&rows, &options.fades, limit);
    for failure in failures.into_iter().filter_map(Result::err) {
        println!("not measured: {failure}");
    }
    Ok(rows)
}

/// Returns all copies, the long ones first, so that none runs alone at the end.
fn cases(options: &Options) -> Vec<Case> {
    let wanted = |scheme: &Scheme| {
        let names = &options.schemes;
        names.is_empty() || names.iter().any(|name| name == scheme.name)
    };
    let mut cases = Vec::new();
    for bytes in SIZES.into_iter().rev() {
        let is_long = bytes == SIZES[1];
        if is_long && options.brief {
            continue;
        }
        let all = !is_long || options.full;
        let seeds = if all {
            &options.seeds[..]
        } else {
            &options.seeds[..options.seeds.len().min(1)]
        };
        for seed in seeds {
            for scheme in SCHEMES
                .iter()
                .filter(|scheme| wanted(scheme) && (all || scheme.repaired))
            {
                for way in Direction::BOTH {
                    cases.extend(options.fades.iter().map(|fade_ms| Case {
                        scheme,
                        fade_ms: *fade_ms,
                        way,
                        bytes,
                        seed: *seed,
                        per_byte: 0,
                    }));
                }
            }
        }
    }
    cases
}

impl Case {
    fn name(&self) -> String {
        format!(
            "{} MB, {}, fades of {} ms, {}, seed {}",
            self.bytes / 1_000_000,
            self.way.name(),
            self.fade_ms,
            self.scheme.name,
            self.seed
        )
    }
}

fn measure(measured: &Measured, case: &Case) -> Result<Row, Failure> {
    let folder = folder_in_memory()?;
    let hop = Hop::new(folder.path(), measured.program)?;
    copy::prepare(&hop, "data", case.bytes, 0)?;
    let link = hop.path("link.toml");
    peers::write(&link, &description(case.fade_ms))?;
    let mut air = hop.air(&link.to_string_lossy(), case.seed)?;
    let daemons = hop.daemons();
    let repaired = case.scheme.repaired;
    let running = repaired.then(|| hop.start_daemons(&daemons));
    let _running = running.transpose()?;
    let address = if repaired { INSIDE } else { GATEWAY };
    let usual = Directories::Remembered;
    let mut server = Ganesha::start(&hop.gateway, address, folder.path(), usual)?;
    let mut slow = None;
    if case.per_byte > 0 {
        server = server.behind(service::PORT);
        slow = Some(service::start(&hop, case.per_byte)?);
    }
    hop.reach(&server)?;
    let signals = hop.signals().display().to_string();
    let mut options = vec!["--proto", "udp", "--policy", case.scheme.policy];
    options.extend(measured.options.fades.client.split_whitespace());
    if repaired {
        options.extend(["--signals", &signals]);
    } else {
        options.push("--no-signals");
    }
    let before = moment(&mut air)?;
    let client = Client::Lasthop(measured.program, &options);
    let copied = copy::copy(client, case.way, "data", &hop, &server)?;
    let after = moment(&mut air)?;
    drop(slow);
    let sender = usize::from(case.way == Direction::Write);
    Ok(Row {
        setting: fade(case.fade_ms),
        scheme: case.scheme.name.into(),
        way: case.way.name(),
        bytes: case.bytes,
        turn: case.seed,
        seconds: copied.seconds,
        good_share: Some((after.1 - before.1) / (after.0 - before.0)),
        repeated: copied.repeated,
        server_growth: None,
        held_share: repaired
            .then(|| held_share(&daemons.status(sender)))
            .flatten(),
    })
}

/// Returns the description of a fading link: its rate is that of the papers' infrared LAN; fades hit both directions
/// together.
fn description(fade_ms: u32) -> String {
    let common = "[each]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"50 packets\"\n";
    if fade_ms == 0 {
        return common.into();
    }
    format!(
        "{common}\n[errors]\nmodel = \"temporal\"\ngood = {{ distribution = \"exponential\", mean = \"1 s\" }}\n\
         bad = {{ distribution = \"exponential\", mean = \"{fade_ms} ms\" }}\n"
    )
}

/// Returns the time since the link began, and that in which it was good, in nanoseconds.
fn moment(air: &mut Air) -> Result<(f64, f64), Failure> {
    let report: Value = air.report()?;
    let elapsed = report["elapsed_ns"].as_f64();
    let share = report["down"]["good_share"].as_f64();
    let moment = elapsed
        .zip(share)
        .map(|(elapsed, share)| (elapsed, elapsed * share));
    moment.ok_or_else(|| Failure::Found("the report of the emulated link is not whole".into()))
}

/// Returns the share that the sending daemon treated as held flows, of all that it carried.
fn held_share(status: &Value) -> Option<f64> {
    let sent = &status["host"]["peers"][0]["hop"]["stats"]["sent"];
    let (held, brief) = (sent["bytes_held"].as_f64()?, sent["bytes_brief"].as_f64()?);
    Some(held / (held + brief))
}

fn fade(milliseconds: u32) -> String {
    if milliseconds == 0 {
        "none".into()
    } else {
        format!("{milliseconds} ms")
    }
}

/// Prints a line for each scheme. A column for each mean fade has the time divided by that without fades; if the air is
/// the limit, divided also by the inverse of the share of good time that the copy met.
fn print(rows: &[Row], fades: &[u32], limit: Limit) {
    let faded = fades.iter().filter(|fade_ms| **fade_ms > 0);
    let heads: Vec<_> = faded.map(|fade_ms| fade(*fade_ms) + " |").collect();
    let columns = "---|".repeat(5 + heads.len());
    println!(
        "| file | way | scheme | s without fades, median (least – most) | {} calls repeated |\n|{columns}",
        heads.join(" ")
    );
    for bytes in SIZES {
        for way in Direction::BOTH {
            for scheme in &SCHEMES {
                let of_scheme = |row: &&Row| {
                    row.bytes == bytes && row.way == way.name() && row.scheme == scheme.name
                };
                let rows: Vec<_> = rows.iter().filter(of_scheme).collect();
                if !rows.is_empty() {
                    let (size, way) = (bytes / 1_000_000, way.name());
                    println!(
                        "| {size} MB | {way} | {} | {}",
                        scheme.name,
                        line(&rows, fades, limit)
                    );
                }
            }
        }
    }
    println!();
}

/// Returns the line for rows that differ only in fades and seeds.
fn line(rows: &[&Row], fades: &[u32], limit: Limit) -> String {
    let of = |fade_ms: u32| rows.iter().filter(move |row| row.setting == fade(fade_ms));
    let clean = spread(of(0).map(|row| row.seconds));
    let over = |row: &&Row| {
        let share = row.good_share.filter(|_| limit == Limit::Air);
        Some(row.seconds * share.unwrap_or(1.0) / clean?[0])
    };
    let faded = fades.iter().filter(|fade_ms| **fade_ms > 0);
    let ratios = faded.map(|fade_ms| show(spread(of(*fade_ms).filter_map(over)), 3));
    let cells: Vec<_> = std::iter::once(show(clean, 1)).chain(ratios).collect();
    let repeated = |fade_ms: &u32| {
        let counts = of(*fade_ms).filter_map(|row| Some(row.repeated? as f64));
        spread(counts).map_or("–".into(), |[median, ..]| format!("{median:.0}"))
    };
    let repeated: Vec<_> = fades.iter().map(repeated).collect();
    format!("{} | {} |", cells.join(" | "), repeated.join(", "))
}
