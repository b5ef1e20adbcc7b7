//! `cargo xtask bench crowd`: a thousand mobile hosts join one gateway at the same time, with lines from one `invite`,
//! and then are connected without traffic, while one more sends requests and others come and go. Needs root.

mod neighbour;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use neighbour::{Neighbour, Requests};
use rig::{Crowd, End, Namespace, Process};
use serde::Serialize;

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
    /// Mobile hosts that are added, and then revoked, one each second
    #[arg(long, default_value_t = 30)]
    changes: u32,
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
    /// Requests of a neighbour while nothing changes.
    quiet: Requests,
    /// The same while the commands run for a copy of the gateway's state, which no daemon reads.
    control: Requests,
    /// The same while others are added and revoked.
    changing: Requests,
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
    println!("\nThe aims for 1,000: {JOINED} s, {MEMORY} MiB, {share} %.\n");
    println!("| meanwhile | requests | lost | median | longest | more than 5 ms late |");
    println!("|---|---|---|---|---|---|");
    for (what, requests) in [
        ("nothing changes", row.quiet),
        ("the same commands change a copy", row.control),
        ("the gateway admits and revokes others", row.changing),
    ] {
        println!(
            "| {what} | {} | {} | {:.2} ms | {:.2} ms | {} |",
            requests.sent, requests.lost, requests.median_ms, requests.longest_ms, requests.late
        );
    }
    super::keep(shell, &options.json, &[row])
}

/// A gateway that runs.
struct Gateway<'a> {
    program: &'a Path,
    host: Namespace,
    folder: &'a Path,
    daemon: Process,
}

impl<'a> Gateway<'a> {
    fn start(program: &'a Path, host: Namespace, folder: &'a Path) -> Result<Self, Failure> {
        let state = folder.join("state");
        for action in ["up", "down"] {
            command(program, &host, &state, &["gateway", action])?;
        }
        let mut daemon = Command::new(program);
        let configuration = state.join("gateway/gateway.toml");
        daemon.args(["gateway", "--config"]).arg(configuration);
        let daemon = Process::start(daemon, "gateway", folder, Some(&host))?;
        let runs = || daemon.words().contains(" runs on ");
        rig::wait("the gateway runs", Duration::from_secs(20), runs)?;
        Ok(Self {
            program,
            host,
            folder,
            daemon,
        })
    }

    /// Runs a command of the program on its host.
    fn command(&self, arguments: &[&str]) -> Result<String, Failure> {
        let state = self.folder.join("state");
        command(self.program, &self.host, &state, arguments)
    }

    /// Returns what `act` returns, its time in seconds, and the processor time that it took here.
    fn measure<T>(
        &self,
        act: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64, f64), Failure> {
        let (before, begun) = (self.daemon.usage(), Instant::now());
        let result = act()?;
        let passed = begun.elapsed().as_secs_f64();
        let usage = self.daemon.usage().since(before);
        Ok((result, passed, usage.processor.as_secs_f64()))
    }

    /// Measures the requests of a neighbour: while nothing changes, while a copy changes, and while this gateway does.
    fn ask(&self, changes: u32) -> Result<[Requests; 3], Failure> {
        let neighbour = Neighbour::join(self.program, &self.host, self.folder)?;
        let span = Duration::from_secs(1) * changes;
        let [state, copy] = ["state", "copy"].map(|name| self.folder.join(name));
        let mut copying = Command::new("cp");
        copying.arg("-r").args([&state, &copy]);
        rig::run(&mut copying, None)?;
        let beside = |state: &Path| {
            thread::scope(|scope| {
                let changing = scope.spawn(|| self.change(state, changes));
                let requests = neighbour.ask(span)?;
                let changed = changing.join();
                changed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                Ok::<_, Failure>(requests)
            })
        };
        Ok([neighbour.ask(span)?, beside(&copy)?, beside(&state)?])
    }

    /// Adds a mobile host each second, and revokes it in the middle of that second.
    fn change(&self, state: &Path, changes: u32) -> Result<(), Failure> {
        let begun = Instant::now();
        for change in 0..changes * 2 {
            let due = Duration::from_millis(500) * change;
            thread::sleep(due.saturating_sub(begun.elapsed()));
            let arguments: &[&str] = match change % 2 {
                0 => &["invite", "--name", "other"],
                _ => &["revoke", "other"],
            };
            command(self.program, &self.host, state, arguments)?;
        }
        Ok(())
    }
}

fn measure(program: &Path, folder: &Path, options: &Options) -> Result<Row, Failure> {
    let [gateway, crowd] = rig::hosts()?;
    let [near, far] = [GATEWAY, CROWD].map(|address| format!("{address}/24"));
    rig::join([
        End::new(&gateway, "eth0", &near),
        End::new(&crowd, "eth0", &far),
    ])?;
    let gateway = Gateway::start(program, gateway, folder)?;
    let names: Vec<_> = (0..options.mobiles)
        .map(|number| format!("m{number}"))
        .collect();
    let names = names.iter().flat_map(|name| ["--name", name]);
    let invite: Vec<_> = ["invite"].into_iter().chain(names).collect();
    let (lines, invited_s, _) = gateway.measure(|| gateway.command(&invite))?;
    let address: IpAddr = GATEWAY.parse().expect("an address");
    let mut crowd = Crowd::new(&crowd, (address, PORT).into(), &lines)?;
    let ((), joined_s, joined_processor_s) = gateway.measure(|| Ok(crowd.join()?))?;
    let mut mobiles = crowd.connect()?;
    rig::idle(&mut mobiles, SETTLING);
    let span = Duration::from_secs(options.idle);
    let idle = || {
        rig::idle(&mut mobiles, span);
        Ok(())
    };
    let ((), passed, spent) = gateway.measure(idle)?;
    let memory = gateway.daemon.memory("VmRSS").map_or(0, units::Bytes::get);
    let [quiet, control, changing] = gateway.ask(options.changes)?;
    Ok(Row {
        mobiles: options.mobiles,
        invited_s,
        joined_s,
        joined_processor_s,
        memory_mib: memory as f64 / 1_048_576.0,
        idle_share: spent / passed,
        quiet,
        control,
        changing,
    })
}

/// Runs a command of the program with that state to its end; returns its standard output.
fn command(
    program: &Path,
    host: &Namespace,
    state: &Path,
    arguments: &[&str],
) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(arguments).arg("--state").arg(state);
    Ok(rig::run(&mut command, Some(host))?)
}
