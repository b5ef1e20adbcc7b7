//! `cargo xtask bench hostile`: a mobile host with a valid key does its worst, beside another that downloads. Needs
//! root.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rig::{Attack, RawIdentity, RawMobile};
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
/// Inner address of the hostile mobile host, and an address behind the gateway.
const FROM: [u8; 4] = [10, 79, 0, 3];
const TO: [u8; 4] = [198, 51, 100, 2];

/// The behaviour of the hostile mobile host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Records of two bytes, which become packets of 40 bytes
    Records,
    /// Packets of 20 bytes
    Packets,
    /// Packets each of which begins a flow
    Flows,
    /// Frames that only ask for an acknowledgement
    Probes,
    /// Sealed bytes that are no frame
    Garbage,
}

impl Kind {
    fn attack(self) -> Attack {
        match self {
            Self::Records => Attack::Records,
            Self::Packets => Attack::Packets,
            Self::Flows => Attack::Flows,
            Self::Probes => Attack::Probes,
            Self::Garbage => Attack::Garbage,
        }
    }
}

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Bytes per second that the hostile mobile host sends, at most
    #[arg(long, default_value_t = 540_000)]
    rate: u32,
    /// Its behaviours; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// Seconds of each measurement, with it and without
    #[arg(long, default_value_t = 5.0)]
    time: f64,
    /// Number of measurements of each behaviour
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Rate of the other mobile host's link
    #[arg(long, default_value = "20 Mbit/s")]
    link_rate: String,
    /// Measure this program instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-hostile.json")]
    json: PathBuf,
    /// The program, for a process that runs in its own namespaces
    #[arg(long, hide = true)]
    alone: Option<PathBuf>,
}

/// A measurement without the hostile mobile host, and one with it.
#[derive(Debug, Serialize)]
struct Row {
    kind: Kind,
    turn: usize,
    /// Frames per second that it sent.
    frames: f64,
    quiet: Sample,
    beside: Sample,
}

impl Row {
    fn kept(&self) -> f64 {
        self.beside.goodput_bps / self.quiet.goodput_bps
    }

    /// Returns by how much the median request took longer, in milliseconds.
    fn later(&self) -> f64 {
        self.beside.request_median_ms - self.quiet.request_median_ms
    }

    /// The same of the request at the 99th percentile.
    fn later_p99(&self) -> f64 {
        self.beside.request_p99_ms - self.quiet.request_p99_ms
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
    println!("The hostile mobile host uses the same processors as the gateway.\n");
    println!(
        "| kind | turn | frames/s | gateway CPU | download kept | request median, p99, ms | lost |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut rows = Vec::new();
    for turn in 1..=options.turns {
        for kind in kinds {
            let row = measure(&mut beside, *kind, turn, options)?;
            print(&row);
            rows.push(row);
        }
    }
    println!("\nMedian, least and most; the aims are 0.9 and 20 ms:\n");
    println!(
        "| kind | download kept | request later by, ms | p99 later by, ms |\n|---|---|---|---|"
    );
    for kind in kinds {
        let of = || rows.iter().filter(|row| row.kind == *kind);
        println!(
            "| {} | {} | {} | {} |",
            kind.attack().name(),
            show(spread(of().map(Row::kept)), 2),
            show(spread(of().map(Row::later)), 1),
            show(spread(of().map(Row::later_p99)), 1),
        );
    }
    super::keep(shell, &options.json, &rows)
}

fn measure(
    beside: &mut Beside,
    kind: Kind,
    turn: usize,
    options: &Options,
) -> Result<Row, Failure> {
    let span = Duration::from_secs_f64(options.time);
    thread::sleep(SETTLING);
    let quiet = beside.measure(span)?;
    let hostile = Hostile::start(beside, kind.attack(), options.rate)?;
    thread::sleep(SETTLING);
    let before = hostile.frames.load(Ordering::Relaxed);
    let during = beside.measure(span)?;
    let frames = hostile.frames.load(Ordering::Relaxed) - before;
    Ok(Row {
        kind,
        turn,
        frames: frames as f64 / during.seconds,
        quiet,
        beside: during,
    })
}

/// A thread that attacks until this is dropped.
struct Hostile {
    frames: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Hostile {
    fn start(beside: &Beside, attack: Attack, rate: u32) -> Result<Self, Failure> {
        let key = beside.gateway_key()?.parse();
        let key = key.map_err(|_| Failure::Found("the gateway's key cannot be read".into()))?;
        let identity = RawIdentity::of_file(&beside.hop.path("mobile2.key"), key)?;
        let to = ENDPOINT.parse().expect("an address");
        let raw = RawMobile::connect(&beside.attacker, to, identity)?;
        let (frames, ends) = (Arc::default(), Arc::default());
        let (counter, end) = (Arc::clone(&frames), Arc::clone(&ends));
        let thread = thread::spawn(move || run_attack(raw, attack, rate, &counter, &end));
        Ok(Self {
            frames,
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run_attack(
    mut raw: RawMobile,
    attack: Attack,
    rate: u32,
    frames: &AtomicU64,
    ends: &AtomicBool,
) {
    let begun = Instant::now();
    let (mut number, mut bytes) = (0, 0.0);
    while !ends.load(Ordering::Relaxed) {
        raw.receive(|_| ());
        while bytes < begun.elapsed().as_secs_f64() * f64::from(rate) {
            number += 1;
            let frame = attack.frame(number, FROM, TO);
            bytes += frame.len() as f64;
            frames.fetch_add(u64::from(raw.send(&frame)), Ordering::Relaxed);
        }
    }
}

fn print(row: &Row) {
    let (quiet, beside) = (&row.quiet, &row.beside);
    let used = |sample: &Sample| (sample.user_s + sample.system_s) / sample.seconds;
    println!(
        "| {} | {} | {:.0} | {:.2} (quiet {:.2}) | {:.2} of {:.1} Mbit/s | {:.1}, {:.1} (quiet {:.1}, {:.1}) | {} |",
        row.kind.attack().name(),
        row.turn,
        row.frames,
        used(beside),
        used(quiet),
        row.kept(),
        quiet.goodput_bps / 1e6,
        beside.request_median_ms,
        beside.request_p99_ms,
        quiet.request_median_ms,
        quiet.request_p99_ms,
        beside.requests_lost,
    );
}
