//! `cargo xtask bench tunnel`: TCP through a tunnel over a veth pair without loss, by turns through
//! lasthop, by UDP and by Ethernet frames, and wireguard-go. Needs root.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rig::daemons::Daemons;
use rig::{Process, Usage};
use serde_json::Value;
use tempfile::TempDir;

use super::{peers, setting};
use crate::failure::Failure;
use crate::hop::{Hop, INSIDE};
use xtask::shell::Shell;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("iperf3", "iperf3"), ("ip", "iproute2")];
/// Part of the daemons' configurations if the bearer is Ethernet.
const BY_ETHERNET: &str = "[hop]\nbearer = \"ethernet\"\ninterface = \"air0\"\n";

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds of each run
    #[arg(long, default_value_t = 10)]
    time: u64,
    /// Number of measurements of each tunnel
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Tunnels to measure; all by default
    #[arg(long, value_enum)]
    tunnel: Vec<Tunnel>,
}

/// A tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Tunnel {
    /// lasthop in UDP datagrams
    Udp,
    /// lasthop in Ethernet frames
    Ethernet,
    /// wireguard-go
    Wireguard,
}

impl Tunnel {
    const ALL: [Self; 3] = [Self::Udp, Self::Ethernet, Self::Wireguard];

    /// Returns the name in the table.
    const fn name(self) -> &'static str {
        match self {
            Self::Udp => "lasthop, UDP",
            Self::Ethernet => "lasthop, Ethernet",
            Self::Wireguard => "wireguard-go",
        }
    }
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let lasthop = setting::build(shell)?;
    peers::provide(shell, &NEEDED)?;
    let folder = setting::folder(None)?;
    let tunnels = match &options.tunnel[..] {
        [] => &Tunnel::ALL,
        chosen => chosen,
    };
    let build = || peers::wireguard(shell, folder.path());
    let is_compared = tunnels.contains(&Tunnel::Wireguard);
    let wireguard = is_compared.then(build).transpose()?;
    let bench = Bench {
        folder,
        lasthop,
        wireguard,
        seconds: options.time,
    };
    println!("| tunnel | turn | Gbit/s | CPU s/GB, both ends | peak MiB |\n|---|---|---|---|---|");
    for turn in 1..=options.turns {
        for tunnel in tunnels {
            bench.turn(*tunnel, turn)?;
        }
    }
    Ok(())
}

struct Bench {
    /// Folder of all files.
    folder: TempDir,
    lasthop: PathBuf,
    /// Path of wireguard-go, if it is among the tunnels.
    wireguard: Option<PathBuf>,
    seconds: u64,
}

impl Bench {
    fn turn(&self, tunnel: Tunnel, turn: usize) -> Result<(), Failure> {
        let hop = Hop::new(self.folder.path(), &self.lasthop)?;
        hop.wire()?;
        let running = match tunnel {
            Tunnel::Udp => hop.start_daemons(&Daemons {
                listen: None,
                ..hop.daemons()
            })?,
            Tunnel::Ethernet => hop.start_daemons(&Daemons {
                endpoint: None,
                listen: None,
                gateway: BY_ETHERNET,
                mobile: BY_ETHERNET,
                ..hop.daemons()
            })?,
            Tunnel::Wireguard => self.wireguard(&hop)?,
        };
        // On all addresses: the tunnel's address may not exist yet.
        let mut serve = Command::new("iperf3");
        serve.arg("-s");
        let _server = hop.start(&hop.gateway, "iperf3", serve)?;
        let fetch = |words: &[&str]| {
            let mut command = Command::new("iperf3");
            command.args(["-c", INSIDE]).args(words);
            hop.run(&hop.mobile, command)
        };
        hop.wait("the tunnel stands", || fetch(&["-n", "1K"]).is_ok())?;
        let used = || {
            running
                .iter()
                .map(Process::usage)
                .fold(Usage::default(), Usage::and)
        };
        let before = used();
        let text = fetch(&["-R", "-J", "-t", &self.seconds.to_string()])?;
        let after = used();
        let report: Value = super::understand("iperf3's report", &text)?;
        let bytes = report["end"]["sum_received"]["bytes"]
            .as_f64()
            .unwrap_or(0.0);
        let rate = report["end"]["sum_received"]["bits_per_second"]
            .as_f64()
            .unwrap_or(0.0);
        println!(
            "| {} | {turn} | {:.2} | {:.2} | {:.0} |",
            tunnel.name(),
            rate / 1e9,
            (after.processor - before.processor).as_secs_f64() / (bytes / 1e9),
            after.memory_peak.get() as f64 / f64::from(1 << 20)
        );
        Ok(())
    }

    fn wireguard(&self, hop: &Hop) -> Result<Vec<Process>, Failure> {
        let program = self.wireguard.as_ref();
        let program = program.expect("it is built where it is among the tunnels");
        let sh = |host, line: String| {
            let mut command = Command::new("sh");
            command.args(["-ec", &line]);
            hop.run(host, command)
        };
        let mut running = Vec::new();
        let mut keys = Vec::new();
        for name in ["wg.g", "wg.m"] {
            let line = format!("umask 077; wg genkey > {name}; wg pubkey < {name}");
            keys.push(sh(&hop.gateway, line)?.trim().to_owned());
        }
        let (mobile, gateway) = (
            format!("{} allowed-ips 10.79.0.2/32", keys[1]),
            format!(
                "{} allowed-ips {INSIDE}/32 endpoint 10.77.0.1:51820",
                keys[0]
            ),
        );
        let ends = [
            (&hop.gateway, "lhbench-g", "wg.g", INSIDE, mobile),
            (&hop.mobile, "lhbench-m", "wg.m", "10.79.0.2", gateway),
        ];
        for (host, device, key, address, peer) in ends {
            let socket = PathBuf::from(format!("/var/run/wireguard/{device}.sock"));
            // A killed process leaves its socket behind, on which nobody listens.
            let _ = fs::remove_file(&socket);
            let mut command = Command::new(program);
            command.args(["-f", device]);
            running.push(hop.start(host, device, command)?);
            hop.wait("wireguard-go listens", || socket.exists())?;
            let set = format!(
                "wg set {device} listen-port 51820 private-key {key} peer {peer}
                 ip addr add {address}/24 dev {device}
                 ip link set {device} up mtu 1420"
            );
            sh(host, set)?;
        }
        Ok(running)
    }
}
