//! `cargo xtask bench`: the figures of `docs/performance.md`, measured on this machine.
//!
//! A bench is one file with a `run` function. Compared programs run in turns, in one go.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use xtask::shell::Shell;

mod air;
pub(crate) mod arrivals;
mod attacked;
mod beside;
mod crowd;
pub(crate) mod files;
mod flood;
mod hostile;
mod links;
mod matrix;
mod newcomer;
mod parallel;
pub(crate) mod peers;
mod roam;
mod row;
pub(crate) mod setting;
mod simulator;
pub(crate) mod site;
mod split;
pub(crate) mod spread;
mod tunnel;
mod world;

/// Writes rows as JSON to a file and prints where; `path` is relative to the root of the repository.
pub(crate) fn keep<R: Serialize>(shell: &Shell, path: &Path, rows: &[R]) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(rows).expect("rows are numbers and words under names");
    let out = shell.root.join(path);
    if let Some(parent) = out.parent() {
        // If the folder cannot be created, writing the file reports it.
        let _ = fs::create_dir_all(parent);
    }
    peers::write(&out, &json)?;
    println!("\nrows: {}", out.display());
    Ok(())
}

/// Parses the JSON that a program printed; `what` names it in an error.
fn understand<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Found(format!("{what} cannot be read: {error}\n{text}")))
}

/// The bench to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    /// Bulk transfers and small requests over the emulated links: TCP alone, lasthop, and peers.
    Links(links::Options),
    /// Files at a real NFS server: without loss beside nfs-cp, and through fading links.
    Files(files::Options),
    /// The slow server that `files` starts.
    #[command(hide = true)]
    SlowServer(files::service::Options),
    /// One gateway and many mobile hosts on one air that fades: TCP alone, and lasthop with each discipline.
    Air(air::Options),
    /// The cost of split TCP for the mobile host: processor time, frames and wake-ups, by MTCP, I-TCP and TCP alone.
    Split(split::Options),
    /// The programs that `split` starts in its hosts.
    #[command(hide = true)]
    SplitEnd(split::end::Options),
    /// Forged datagrams beside a download: their cost for the gateway, and the rate that is left.
    Flood(flood::Options),
    /// A mobile host with a valid key that does its worst, beside the download of another one.
    Hostile(hostile::Options),
    /// A mobile host that changes its address in mid-download: stalls, and the time until the new rate is used.
    Roam(roam::Options),
    /// A mobile host that gateways of a site hand over to each other, in mid-download and in mid-call.
    Site(site::Options),
    /// A thousand mobile hosts that join a gateway at the same time, and then are idle.
    Crowd(crowd::Options),
    /// The first try of a newcomer behind NAT: small MTUs, firewalls, source checks, router advertisements, clashes.
    Newcomer(newcomer::Options),
    /// A tunnel over a lossless veth pair: lasthop by each bearer and wireguard-go in turns.
    Tunnel(tunnel::Options),
    /// Real hops: TCP alone and lasthop, beside other senders' TCP, over traces and link files.
    World(world::Options),
    /// The simulator and ns-2 and ns-3 in turns: data packets per second, and the cost of flows and captures.
    Simulator(simulator::Options),
    /// The accuracy of rate, delay and loss in `lasthop emulate`, and its capacity.
    Emulate,
}

/// Runs one bench; it prints a Markdown table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(true);
    match &options.bench {
        Bench::SplitEnd(options) => return split::end::run(options),
        // These describe themselves when they run in their own namespaces.
        Bench::World(options) => return world::run(&shell, options),
        Bench::Flood(options) => return flood::run(&shell, options),
        Bench::Hostile(options) => return hostile::run(&shell, options),
        Bench::Roam(options) => return roam::run(&shell, options),
        Bench::Site(options) => return site::run(&shell, options),
        Bench::Newcomer(options) => return newcomer::run(&shell, options),
        Bench::Crowd(options) => return crowd::run(&shell, options),
        Bench::Split(options) => split::enter(&shell, options)?,
        Bench::Links(_)
        | Bench::Files(_)
        | Bench::SlowServer(_)
        | Bench::Air(_)
        | Bench::Tunnel(_)
        | Bench::Simulator(_)
        | Bench::Emulate => {}
    }
    println!("{}\n", setting::describe(&shell)?);
    match &options.bench {
        Bench::SplitEnd(_)
        | Bench::World(_)
        | Bench::Flood(_)
        | Bench::Hostile(_)
        | Bench::Roam(_)
        | Bench::Site(_)
        | Bench::Newcomer(_)
        | Bench::Crowd(_) => Ok(()),
        Bench::Split(options) => split::run(&shell, options),
        Bench::Links(options) => links::run(&shell, options),
        Bench::SlowServer(options) => files::service::run(options),
        Bench::Files(options) => files::run(&shell, options),
        Bench::Air(options) => air::run(&shell, options),
        Bench::Tunnel(options) => tunnel::run(&shell, options),
        Bench::Simulator(options) => simulator::run(&shell, options),
        Bench::Emulate => {
            let test = [
                "test",
                "--release",
                "-p",
                "lasthop",
                "--test",
                "suite",
                "emulator::",
            ];
            let mut command = shell.cargo(&test);
            command.args(["--", "--ignored", "--nocapture", "--test-threads", "1"]);
            Ok(shell.run(command).map(drop)?)
        }
    }
}
