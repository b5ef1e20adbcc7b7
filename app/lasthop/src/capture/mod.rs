//! `lasthop capture`: packets and frames of a running daemon as pcapng.

mod file;
mod meter;
mod target;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedI64ValueParser;
use runtime::capture::{Capture, Counts, Received, Selection, Side, Stopper};

use crate::config::values::Name;
use crate::failure::Failure;
use crate::interrupt;
use crate::status::{ENDING, only_socket, unanswered};
use file::{About, CaptureFile};
use meter::Meter;
use target::{Output, Target, WriteError};

const EXAMPLES: &str = "\
Examples:
  lasthop capture hop.pcapng                     both sides, until Ctrl-C
  lasthop capture --seconds 10 hop.pcapng        for ten seconds
  lasthop capture --peer tablet7 --hop t7.pcapng frames of one mobile host alone
  lasthop capture --snap 100 hop.pcapng          no more than the beginning of each
  lasthop capture - | wireshark -k -i -          in Wireshark as it happens

Packets and frames hold the data of users. docs/guide/capture.md explains the file, and the dissector for Wireshark.";

/// Most bytes of each packet or frame: longer ones do not exist.
const SNAP: i64 = 262_144;
/// Time that a daemon has for its last counts.
const PATIENCE: Duration = Duration::from_secs(5);

/// Capture the packets and the frames of a running daemon as a pcapng file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The daemon, by its configuration's `name` [default: the only one]
    #[arg(long)]
    name: Option<String>,
    /// Only what belongs to this peer
    #[arg(long, value_name = "NAME", value_parser = peer_name)]
    peer: Option<String>,
    /// Only IP packets that cross the daemon's TUN device; with --hop both
    #[arg(long)]
    inner: bool,
    /// Only frames of the hop, before they are sealed and after they were opened; with --inner both
    #[arg(long, visible_alias = "outer")]
    hop: bool,
    /// End after this time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// End after this number of packets and frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Most bytes of each packet or frame
    #[arg(long, value_name = "N", default_value_t = SNAP as u32, value_parser = snap())]
    snap: u32,
    /// The daemon's `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = edges::undo::STATE_FOLDER)]
    state_dir: PathBuf,
    /// The file, which is replaced if it exists; `-` is standard output [default: -]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

fn snap() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=SNAP)
}

fn peer_name(text: &str) -> Result<String, String> {
    Name::read(text).map(|Name(name)| name)
}

impl Arguments {
    fn selection(&self) -> Selection {
        let both = self.inner == self.hop;
        Selection {
            inner: self.inner || both,
            hop: self.hop || both,
            peer: self.peer.clone(),
            snap: self.snap as usize,
        }
    }
}

/// Captures until the user, a limit, the daemon or the file ends it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    Output::check(arguments.file.as_deref())?;
    let socket = match &arguments.name {
        Some(name) => arguments.state_dir.join(format!("{name}.{ENDING}")),
        None => only_socket(&arguments.state_dir, ENDING)?,
    };
    let daemon = socket.file_stem().unwrap_or_default();
    let daemon = daemon.to_string_lossy().into_owned();
    let selection = arguments.selection();
    let capture = Capture::begin(&socket, &selection)
        .map_err(|error| unanswered(&socket, &error))?
        .map_err(|error| Failure::setting(format!("daemon '{daemon}': {error}")))?;
    let target = Output::open(arguments.file.as_deref())?;
    let stopper = || capture.stopper().map_err(Failure::broken);
    let (on_signal, own) = (stopper()?, stopper()?);
    interrupt::watch(move |again| {
        if again {
            // Whatever the file has, it consists of whole blocks.
            std::process::exit(i32::from(crate::failure::INTERRUPTED));
        }
        on_signal.stop();
    })?;
    let about = About {
        daemon: daemon.clone(),
        beginning: capture.beginning().clone(),
        selection,
    };
    let mut run = Run {
        file: CaptureFile::new(target, about),
        capture,
        stopper: own,
        limits: Limits::of(arguments),
        meter: Meter::new(),
        counts: [Counts::default(); 2],
        ended: None,
    };
    let outcome = run.run();
    let written = run.file.finish(run.counts);
    run.meter.finish(&daemon, run.file.written(), run.counts);
    let what = |error: WriteError| error.failure(arguments.file.as_deref());
    match outcome.and(written.map_err(Broken::File)) {
        Ok(()) | Err(Broken::File(WriteError::Closed)) => Ok(()),
        Err(Broken::File(error)) => Err(what(error)),
        Err(Broken::Daemon(reason)) => Err(Failure::broken(format!("daemon '{daemon}' {reason}"))),
    }
}

/// When a capture ends by itself.
struct Limits {
    at: Option<Instant>,
    packets: u64,
}

impl Limits {
    fn of(arguments: &Arguments) -> Self {
        let span = arguments
            .seconds
            .map(|seconds| Duration::from_secs(seconds.into()));
        Self {
            at: span.map(|span| Instant::now() + span),
            packets: arguments.packets.unwrap_or(u64::MAX),
        }
    }
}

/// Reason why a capture ended early.
enum Broken {
    File(WriteError),
    Daemon(String),
}

/// A capture on its way.
struct Run<T> {
    capture: Capture,
    stopper: Stopper,
    file: CaptureFile<T>,
    limits: Limits,
    meter: Meter,
    /// The last counts of the daemon, by side.
    counts: [Counts; Side::ALL.len()],
    /// Time at which the end was requested.
    ended: Option<Instant>,
}

impl<T: Target> Run<T> {
    fn run(&mut self) -> Result<(), Broken> {
        self.file.flush().map_err(Broken::File)?;
        let mut lasts = 0;
        while lasts < Side::ALL.len() {
            let Self { file, counts, .. } = self;
            let most = self.limits.packets;
            let received = self.capture.receive(|record| {
                counts[record.side as usize] = record.counts;
                lasts += usize::from(record.is_last);
                if !record.is_last && file.written().packets() < most {
                    file.add(record);
                }
            });
            self.file.flush().map_err(Broken::File)?;
            self.meter.show(self.file.written(), self.counts);
            match received {
                Ok(Received::End) if lasts < Side::ALL.len() => {
                    let reason = "has ended; the file has what was captured until then";
                    return Err(Broken::Daemon(reason.into()));
                }
                Ok(Received::Records | Received::Nothing | Received::End) => {}
                Err(error) => {
                    return Err(Broken::Daemon(format!(
                        "sends no capture any more: {error}"
                    )));
                }
            }
            self.stop_at_limits()?;
        }
        if self.ended.is_none() && !interrupt::is_set() {
            let reason = "has ended; the file has everything until then";
            return Err(Broken::Daemon(reason.into()));
        }
        Ok(())
    }

    fn stop_at_limits(&mut self) -> Result<(), Broken> {
        let is_over = self.limits.at.is_some_and(|at| Instant::now() >= at)
            || self.file.written().packets() >= self.limits.packets;
        if self.ended.is_none() && (is_over || interrupt::is_set()) {
            self.stopper.stop();
            self.ended = Some(Instant::now());
        }
        if self.ended.is_some_and(|ended| ended.elapsed() > PATIENCE) {
            let reason = "does not send its last counts; the file has everything until then";
            return Err(Broken::Daemon(reason.into()));
        }
        Ok(())
    }
}
