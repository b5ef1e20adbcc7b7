//! `cargo xtask bench hostile`: a mobile host with a valid key does its worst, beside another that downloads. Needs
//! root.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::ValueEnum;
use rig::{Attack, RawMobile};
use serde::Serialize;

use super::attacked::{self, Row};
use super::beside::{Beside, Sample};
use crate::failure::Failure;
use crate::hop::ENDPOINT;
use xtask::shell::Shell;

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

impl attacked::Kind for Kind {
    fn name(self) -> &'static str {
        self.attack().name()
    }

    fn start(self, beside: &Beside, rate: u32) -> Result<Box<dyn attacked::Attack>, Failure> {
        let identity = beside.second_identity()?;
        let to = ENDPOINT.parse().expect("an address");
        let raw = RawMobile::connect(&beside.attacker, to, identity)?;
        Ok(Box::new(Hostile::start(raw, self.attack(), rate)))
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
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-hostile.json")]
    json: PathBuf,
    #[command(flatten)]
    attacked: attacked::Options,
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let kinds = match &options.kinds[..] {
        [] => Kind::value_variants(),
        chosen => chosen,
    };
    let header =
        "| kind | turn | frames/s | gateway CPU | download kept | request median, p99, ms | lost |";
    let attacks = (kinds, options.rate);
    let rows = attacked::measure(shell, &options.attacked, attacks, (header, print))?;
    println!("\nMedian, least and most; the aims are 0.9 and 20 ms:");
    let later: fn(&Row<Kind>) -> f64 =
        |row| row.attacked.request_median_ms - row.quiet.request_median_ms;
    let later_p99: fn(&Row<Kind>) -> f64 =
        |row| row.attacked.request_p99_ms - row.quiet.request_p99_ms;
    attacked::summarize(
        kinds,
        &rows,
        &[
            ("download kept", 2, Row::kept),
            ("request later by, ms", 1, later),
            ("p99 later by, ms", 1, later_p99),
        ],
    );
    super::keep(shell, &options.json, &rows)
}

/// A thread that attacks until this is dropped.
struct Hostile {
    frames: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Hostile {
    fn start(raw: RawMobile, attack: Attack, rate: u32) -> Self {
        let (frames, ends) = (Arc::default(), Arc::default());
        let (counter, end) = (Arc::clone(&frames), Arc::clone(&ends));
        let thread = thread::spawn(move || run_attack(raw, attack, rate, &counter, &end));
        Self {
            frames,
            ends,
            thread: Some(thread),
        }
    }
}

impl attacked::Attack for Hostile {
    fn sent(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
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

fn print(row: &Row<Kind>) {
    let (quiet, beside) = (&row.quiet, &row.attacked);
    let used = |sample: &Sample| (sample.user_s + sample.system_s) / sample.seconds;
    println!(
        "| {} | {} | {:.0} | {:.2} (quiet {:.2}) | {:.2} of {:.1} Mbit/s | {:.1}, {:.1} (quiet {:.1}, {:.1}) | {} |",
        row.kind.attack().name(),
        row.turn,
        row.sent,
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
