//! `cargo xtask bench crowd`: a thousand mobile hosts join one gateway at the same time, with lines from one `invite`,
//! and then are connected without traffic. Needs root.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rig::{Crowd, End, Namespace, Process};
use serde::Serialize;

use super::beside::there;
use super::setting;
use crate::failure::Failure;
use crate::soak::alone::Alone;
use xtask::shell::Shell;

/// The gateway, and the host of all mobile hosts.
const GATEWAY: &str = "203.0.113.1";
const CROWD: &str = "203.0.113.2";
/// Port of a gateway that has chosen nothing.
const PORT: u16 = 51_830;
/// The aims: time for all to join in seconds, resident memory in MiB, and share of a core, for 1,000.
const JOINED: f64 = 60.0;
const MEMORY: f64 = 256.0;
const SHARE: f64 = 0.02;
/// Time after the last handshake that belongs to nobody's measurement.
const SETTLING: Duration = Duration::from_secs(5);

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of mobile hosts
    #[arg(long, default_value_t = 1_000)]
    mobiles: usize,
    /// Seconds without traffic over which the processor time is measured
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-crowd.json")]
    json: PathBuf,
    #[command(flatten)]
    alone: Alone,
}

/// What a crowd costs its gateway.
#[derive(Debug, Serialize)]
struct Row {
    mobiles: usize,
    /// Time of `invite`, in seconds.
    invited_s: f64,
    /// Time from the first datagram until the last one had joined, in seconds.
    joined_s: f64,
    /// Processor time of the gateway and its helper for that, in seconds.
    joined_processor_s: f64,
    /// Resident memory of the gateway when all are connected, in MiB.
    memory_mib: f64,
    /// Processor time by wall time while all are connected and idle.
    idle_share: f64,
}

/// Measures and prints a table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = setting::folder(Some("/mnt"))?;
    let row = measure(program, folder.path(), options)?;
    println!("| mobile hosts | `invite` | all joined after | processor time | memory | idle |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| {} | {:.2} s | {:.2} s | {:.2} s | {:.0} MiB | {:.2} % of a core |",
        row.mobiles,
        row.invited_s,
        row.joined_s,
        row.joined_processor_s,
        row.memory_mib,
        row.idle_share * 100.0
    );
    let share = SHARE * 100.0;
    println!("\nThe aims for 1,000: {JOINED} s, {MEMORY} MiB, {share} %.");
    super::keep(shell, &options.json, &[row])
}

fn measure(program: &Path, folder: &Path, options: &Options) -> Result<Row, Failure> {
    let [gateway, crowd] = rig::hosts()?;
    let [near, far] = [GATEWAY, CROWD].map(|address| format!("{address}/24"));
    rig::join([
        End::new(&gateway, "eth0", &near),
        End::new(&crowd, "eth0", &far),
    ])?;
    let state = folder.join("state");
    let lasthop = |arguments: &[String]| command(program, &gateway, &state, arguments);
    for action in ["up", "down"] {
        lasthop(&["gateway".into(), action.into()])?;
    }
    let mut daemon = Command::new(program);
    let configuration = state.join("gateway/gateway.toml");
    daemon.args(["gateway", "--config"]).arg(configuration);
    let daemon = Process::start(daemon, "gateway", folder, Some(&gateway))?;
    let runs = || daemon.words().contains(" runs on ");
    rig::wait("the gateway runs", Duration::from_secs(20), runs)?;
    let names = (0..options.mobiles).flat_map(|number| ["--name".into(), format!("m{number}")]);
    let invite: Vec<String> = ["invite".into()].into_iter().chain(names).collect();
    let begun = Instant::now();
    let lines = lasthop(&invite)?;
    let invited_s = begun.elapsed().as_secs_f64();
    let address = GATEWAY.parse().expect("an address");
    let mut crowd = Crowd::new(&crowd, (address, PORT).into(), &lines)?;
    let (before, begun) = (daemon.usage(), Instant::now());
    crowd.join()?;
    let joined_s = begun.elapsed().as_secs_f64();
    let joined_processor_s = daemon.usage().since(before).processor.as_secs_f64();
    let mut mobiles = crowd.connect()?;
    rig::idle(&mut mobiles, SETTLING);
    let (before, begun) = (daemon.usage(), Instant::now());
    rig::idle(&mut mobiles, Duration::from_secs(options.idle));
    let spent = daemon.usage().since(before).processor.as_secs_f64();
    let memory = daemon.memory("VmRSS").map_or(0, units::Bytes::get);
    Ok(Row {
        mobiles: options.mobiles,
        invited_s,
        joined_s,
        joined_processor_s,
        memory_mib: memory as f64 / 1_048_576.0,
        idle_share: spent / begun.elapsed().as_secs_f64(),
    })
}

/// Runs a command of the program to its end; returns its standard output.
fn command(
    program: &Path,
    host: &Namespace,
    state: &Path,
    arguments: &[String],
) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(arguments).arg("--state").arg(state);
    let output = there(host, || command.stdin(Stdio::null()).output())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let what = arguments.first().map_or("", String::as_str);
    Err(Failure::Found(format!("`lasthop {what}` failed: {words}")))
}
