//! A check of the method with known loads of the mobile host, and of others.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rig::Namespace;

use super::load::{Part, Tasks, Work};
use super::rig::{MOBILE, Rig};
use crate::bench::setting;
use crate::failure::Failure;

/// Time for which each load is measured.
const WATCHED: Duration = Duration::from_secs(2);
/// Processor share of the known load, in per cent.
const SHARE: f64 = 30.0;
/// Tolerance of the measurement, and limit of the other hosts' work that may appear at the mobile host, in per cent.
const SLACK: f64 = 3.0;
const STRAY: f64 = 0.5;
/// Datagrams per second to an unused port of the mobile host, which only the kernel handles.
const DATAGRAMS: f64 = 2_000.0;

/// Measures known loads and prints the results.
///
/// # Errors
/// Returns an error if a result is out of tolerance: then this kernel, or other work of the machine, prevents the
/// bench.
pub(super) fn run(program: &Path) -> Result<(), Failure> {
    let folder = setting::folder(Some("/run"))?;
    let rig = Rig::new(folder.path(), program)?;
    let own = spinning(&rig, &rig.hop.mobile, "30")?;
    let others = spinning(&rig, &rig.fixed, "90")?;
    let (arrivals, cost) = arriving(&rig)?;
    println!(
        "Method: {SHARE} % of its processor used by the mobile host is found as {own:.2} %, 90 % used by the fixed \
         host as {others:.3} %; {DATAGRAMS} datagrams that only its kernel sees wake that {arrivals} times, and cost \
         {cost:.1} µs each.\n"
    );
    let found = [
        ((own - SHARE).abs() <= SLACK, "the mobile host's own work"),
        (others <= STRAY, "the work of others"),
        // Two that arrive while the thread still works wake it once.
        (
            (0.5 * DATAGRAMS..=1.1 * DATAGRAMS).contains(&arrivals) && cost > 0.1,
            "what the kernel does for packets",
        ),
    ];
    let wrong: Vec<_> = found
        .into_iter()
        .filter(|(is_right, _)| !is_right)
        .map(|(_, what)| format!("not measured as it should be (is the machine too busy?): {what}"))
        .collect();
    Failure::unless_empty(&wrong)
}

/// Returns the measured share of the mobile host while a host uses `share` of its processor, in per cent.
fn spinning(rig: &Rig, host: &Namespace, share: &str) -> Result<f64, Failure> {
    let spin = rig.talk(host, &["spin", "--share", share])?;
    let is_own = host.id() == rig.hop.mobile.id();
    let tasks = Tasks {
        daemon: None,
        application: is_own.then(|| spin.id()),
        arrival: Some(rig.arrival),
    };
    let (work, seconds) = watch(&tasks)?;
    Ok(100.0 * work.all_seconds() / seconds)
}

/// Returns how often datagrams wake the mobile host's kernel, and the cost of each, in µs.
fn arriving(rig: &Rig) -> Result<(f64, f64), Failure> {
    let (count, to) = (DATAGRAMS.to_string(), format!("{MOBILE}:9"));
    let words = [
        "datagrams",
        "--count",
        &count,
        "--each-ms",
        "1",
        "--to",
        &to,
    ];
    let mut sender = rig.talk(&rig.access, &words)?;
    let tasks = Tasks {
        arrival: Some(rig.arrival),
        ..Tasks::default()
    };
    let before = tasks.now()?;
    sender.ask("go", "done")?;
    let work = tasks.now()?.since(&before);
    let seconds = work.seconds_of(Part::Arrival);
    Ok((work.wake_ups_of(Part::Arrival), 1e6 * seconds / DATAGRAMS))
}

fn watch(tasks: &Tasks) -> Result<(Work, f64), Failure> {
    let (before, begun) = (tasks.now()?, Instant::now());
    thread::sleep(WATCHED);
    Ok((tasks.now()?.since(&before), begun.elapsed().as_secs_f64()))
}
