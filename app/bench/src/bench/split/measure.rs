//! One transfer, and its cost for the mobile host.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rig::{Namespace, Process};
use serde::Serialize;
use serde_json::Value;

use super::case::Case;
use super::load::{Tasks, Work};
use super::rig::{FIXED, Rig};
use super::talk::Talk;
use crate::bench::setting;
use crate::failure::Failure;

/// Time for which the mobile host is measured at rest, before a transfer and after it.
const REST: Duration = Duration::from_millis(500);
/// Pause before the rest.
const SETTLING: Duration = Duration::from_millis(300);
/// Pause after a transfer: data that wait for a slow air still arrive.
const DRAINING: Duration = Duration::from_millis(700);
const PORT: u16 = 5_001;

/// Settings of a transfer.
pub(super) struct Manner<'a> {
    pub(super) program: &'a Path,
    /// The congestion control of the kernel's TCP.
    pub(super) sender: &'a str,
    /// Bytes in each direction.
    pub(super) bytes: u64,
    /// Time after which the transfer ends, complete or not.
    pub(super) limit: Duration,
}

/// A transfer with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) case: Case,
    /// Seconds from the request for the connection to the last byte, or to the limit.
    pub(super) seconds: f64,
    /// Bytes received by the mobile host, and by the fixed host.
    pub(super) bytes: f64,
    pub(super) bytes_up: f64,
    /// True if all bytes arrived, and true if those received are equal to the sent ones.
    pub(super) whole: bool,
    pub(super) intact: bool,
    /// Work of the mobile host beyond its work at rest.
    pub(super) work: Work,
    /// Work of the mobile host per second at rest.
    pub(super) background: Work,
    pub(super) air: Air,
}

/// Frames on the hop during the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Air {
    /// Frames from the mobile host.
    pub(super) sent: f64,
    /// Frames to it, lost ones included.
    pub(super) meant_for_it: f64,
    pub(super) lost: f64,
    /// Deadlines that the emulator missed by more than 2 ms.
    pub(super) late: f64,
}

impl Row {
    /// Returns the bytes received by both hosts, in MB.
    pub(super) fn megabytes(&self) -> f64 {
        (self.bytes + self.bytes_up) / 1e6
    }

    /// Returns the rate in Mbit/s, of both directions together.
    pub(super) fn rate(&self) -> f64 {
        self.megabytes() * 8.0 / self.seconds
    }

    /// Returns the share of the time for which the mobile host used the processor, in per cent.
    pub(super) fn usage(&self) -> f64 {
        100.0 * self.work.all_seconds() / self.seconds
    }

    /// Returns `what` per received MB; `None` if nothing was received.
    pub(super) fn for_each_megabyte(&self, what: f64) -> Option<f64> {
        let megabytes = self.megabytes();
        (megabytes > 0.0).then(|| what / megabytes)
    }
}

/// Runs a transfer on newly created hosts.
pub(super) fn run(manner: &Manner<'_>, case: &Case) -> Result<Row, Failure> {
    let folder = setting::folder(Some("/run"))?;
    let rig = Rig::new(folder.path(), manner.program)?;
    let mut air = rig.start_air(case)?;
    let stirring = rig.stir()?;
    let daemons = rig.start_daemons(case.scheme, manner.sender)?;
    let bytes = manner.bytes.to_string();
    let up = if case.both_ways { &bytes } else { "0" };
    let sender = ["--sender", manner.sender];
    let of_fixed = ["--listen", "--send", &bytes, "--expect", up];
    let mut fixed = end(&rig, &rig.fixed, sender, &of_fixed)?;
    let of_mobile = ["--send", up, "--expect", &bytes];
    let mut mobile = end(&rig, &rig.hop.mobile, sender, &of_mobile)?;
    let tasks = Tasks {
        daemon: daemons.get(1).map(Process::id),
        application: Some(mobile.id()),
        arrival: Some(rig.arrival),
    };
    drop(stirring);
    thread::sleep(SETTLING);
    let rest = rest(&tasks)?;
    let seen = air.report()?;
    let (before, begun) = (tasks.now()?, Instant::now());
    mobile.say("go")?;
    wait(case, [&mobile, &fixed], manner.limit);
    let (after, seconds) = (tasks.now()?, begun.elapsed().as_secs_f64());
    let counts = [count(&mut mobile)?, count(&mut fixed)?];
    let seen = [seen, air.report()?];
    let split = rig.status();
    mobile.say("stop")?;
    thread::sleep(DRAINING);
    let background = rest.joined(&self::rest(&tasks)?, 0.5);
    let mut intact = true;
    for end in [&mut mobile, &mut fixed] {
        intact &= end.ask("check", "content ")? == "intact";
    }
    let [got, got_up] = counts;
    if case.scheme.is_split() && got > 0.0 {
        joined(&split)?;
    }
    let wanted = manner.bytes as f64;
    Ok(Row {
        case: *case,
        seconds,
        bytes: got,
        bytes_up: got_up,
        whole: got >= wanted && (!case.both_ways || got_up >= wanted),
        intact,
        work: after.since(&before).beyond(&background, seconds),
        background,
        air: between(&seen),
    })
}

/// Starts one end of the connection.
fn end(rig: &Rig, host: &Namespace, sender: [&str; 2], words: &[&str]) -> Result<Talk, Failure> {
    let address = format!("{FIXED}:{PORT}");
    let common = ["stream", "--address", &address];
    let words = common.iter().chain(&sender).chain(words);
    rig.talk(host, &words.copied().collect::<Vec<_>>())
}

/// Returns the work of the tasks in a second without requests.
fn rest(tasks: &Tasks) -> Result<Work, Failure> {
    let (before, begun) = (tasks.now()?, Instant::now());
    thread::sleep(REST);
    let work = tasks.now()?.since(&before);
    let nothing = Work::default();
    Ok(nothing.joined(&work, 1.0 / begun.elapsed().as_secs_f64()))
}

/// Waits until all bytes have arrived, at most for `limit`.
fn wait(case: &Case, [mobile, fixed]: [&Talk; 2], limit: Duration) {
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    let _ = mobile.hear(left());
    if case.both_ways {
        let _ = fixed.hear(left());
    }
}

fn count(end: &mut Talk) -> Result<f64, Failure> {
    let count = end.ask("count", "received ")?;
    count
        .parse()
        .map_err(|_| Failure::Found(format!("'{count}' is no count")))
}

/// Returns an error if the connection did not end at the gateway.
fn joined(status: &Value) -> Result<(), Failure> {
    match status["split"]["joined"].as_u64() {
        Some(1..) => Ok(()),
        _ => Err(Failure::Found("the connection was not split".into())),
    }
}

/// Returns the frames between two reports of the air.
fn between([earlier, later]: &[Value; 2]) -> Air {
    let grown = |path: &str| {
        let number = |report: &Value| report.pointer(path).and_then(Value::as_f64);
        number(later).unwrap_or_default() - number(earlier).unwrap_or_default()
    };
    Air {
        sent: grown("/up/offered/packets"),
        meant_for_it: grown("/down/transmitted/packets"),
        lost: grown("/down/dropped_air/packets"),
        late: grown("/lateness/over_2_ms"),
    }
}
