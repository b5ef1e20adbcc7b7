//! `cargo xtask bench tunnel`: TCP through a tunnel over a veth pair without loss, by turns through
//! lasthop, by UDP and by Ethernet frames, and wireguard-go. Needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::files::daemons;
use super::files::hosts::{Hosts, Running};
use super::{peers, setting};
use xtask::shell::{Failure, Shell};

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("iperf3", "iperf3"), ("ip", "iproute2")];
/// The gateway's address inside both tunnels.
const INSIDE: &str = "10.73.0.1";

/// How long to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds of each run
    #[arg(long, default_value_t = 10)]
    time: u64,
    /// How often each tunnel is measured
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Which tunnels; all of them if none is named
    #[arg(long, value_enum)]
    tunnel: Vec<Tunnel>,
}

/// What carries packets across.
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

    /// As the table names it.
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

/// What the daemons' configurations say of the bearer.
struct Bearer {
    /// At the gateway and at the mobile host.
    hop: [&'static str; 2],
    endpoint: &'static str,
}

const UDP: Bearer = Bearer {
    hop: ["", ""],
    endpoint: "endpoint = \"10.1.0.1:51830\"\n",
};
const ETHERNET: Bearer = Bearer {
    hop: [
        "[hop]\nbearer = \"ethernet\"\ninterface = \"g0\"\n",
        "[hop]\nbearer = \"ethernet\"\ninterface = \"m0\"\n",
    ],
    endpoint: "",
};

struct Bench {
    /// Where everything is written.
    folder: TempDir,
    lasthop: PathBuf,
    /// Where it is among the tunnels.
    wireguard: Option<PathBuf>,
    seconds: u64,
}

impl Bench {
    fn turn(&self, tunnel: Tunnel, turn: usize) -> Result<(), Failure> {
        let hosts = Hosts::new(self.folder.path(), "tunnel")?;
        let (gateway, mobile) = (&hosts.server, &hosts.client);
        hosts.join([(gateway, "g0", "10.1.0.1"), (mobile, "m0", "10.1.0.2")])?;
        let running = match tunnel {
            Tunnel::Udp => self.lasthop(&hosts, &UDP)?,
            Tunnel::Ethernet => self.lasthop(&hosts, &ETHERNET)?,
            Tunnel::Wireguard => self.wireguard(&hosts)?,
        };
        // On all addresses: that of the tunnel may not be there yet.
        let _server = hosts.start(gateway, Command::new("iperf3").arg("-s"))?;
        let fetch = |words: &[&str]| {
            let mut command = Command::new("iperf3");
            command.args(["-c", INSIDE]).args(words);
            hosts.run(mobile, &command)
        };
        hosts.wait("the tunnel stands", || fetch(&["-n", "1K"]).is_ok())?;
        let before = used(&running);
        let text = fetch(&["-R", "-J", "-t", &self.seconds.to_string()])?;
        let (after, peak) = (used(&running), peak(&running));
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
            (after - before) / (bytes / 1e9),
            peak / 1024.0
        );
        Ok(())
    }

    /// The two daemons, by that bearer.
    fn lasthop(&self, hosts: &Hosts, bearer: &Bearer) -> Result<Vec<Running>, Failure> {
        let Bearer { hop, endpoint } = bearer;
        let key = |name: &str| daemons::new_key(&hosts.shell, &self.lasthop, name);
        let (gateway, mobile) = (key("g.key")?, key("m.key")?);
        let write = |name: &str, text: String| peers::write(&hosts.path(name), &text);
        write(
            "g.toml",
            format!(
                "private_key_file = \"g.key\"\nnat = false\nstate_dir = \"g\"\n\
                 {}[tun]\naddresses = [\"{INSIDE}/24\"]\n\
                 [[peers]]\nname = \"mobile\"\npublic_key = \"{mobile}\"\naddresses = [\"10.73.0.2\"]\n",
                hop[0]
            ),
        )?;
        write(
            "m.toml",
            format!(
                "private_key_file = \"m.key\"\nstate_dir = \"m\"\nroutes = [\"10.99.0.0/24\"]\n\
                 {}[gateway]\n{endpoint}public_key = \"{gateway}\"\n\
                 [tun]\naddresses = [\"10.73.0.2/24\"]\n",
                hop[1]
            ),
        )?;
        let daemon = |host, role: &str, config: &str| {
            hosts.start(
                host,
                Command::new(&self.lasthop).args([role, "--config", config]),
            )
        };
        Ok(vec![
            daemon(&hosts.server, "gateway", "g.toml")?,
            daemon(&hosts.client, "mobile", "m.toml")?,
        ])
    }

    fn wireguard(&self, hosts: &Hosts) -> Result<Vec<Running>, Failure> {
        let program = self.wireguard.as_ref();
        let program = program.expect("it is built where it is among the tunnels");
        let mut running = Vec::new();
        let mut keys = Vec::new();
        for name in ["wg.g", "wg.m"] {
            let mut command = Command::new("wg");
            command.arg("genkey");
            let private = hosts.shell.run(command)?;
            peers::write(&hosts.path(name), &private)?;
            let mut command = hosts.command(Path::new("sh"));
            command.args(["-c", &format!("wg pubkey < {name}")]);
            keys.push(hosts.shell.run(command)?.trim().to_owned());
        }
        let ends = [
            (
                &hosts.server,
                "lhbench-g",
                "wg.g",
                "10.73.0.1",
                format!("{} allowed-ips 10.73.0.2/32", keys[1]),
            ),
            (
                &hosts.client,
                "lhbench-m",
                "wg.m",
                "10.73.0.2",
                format!(
                    "{} allowed-ips 10.73.0.1/32 endpoint 10.1.0.1:51820",
                    keys[0]
                ),
            ),
        ];
        for (host, device, key, address, peer) in ends {
            let socket = PathBuf::from(format!("/var/run/wireguard/{device}.sock"));
            // One that was killed leaves its socket behind, to which nobody listens.
            let _ = fs::remove_file(&socket);
            running.push(hosts.start(host, Command::new(program).args(["-f", device]))?);
            hosts.wait("wireguard-go listens", || socket.exists())?;
            let line = format!("set {device} listen-port 51820 private-key {key} peer {peer}");
            hosts.run(host, Command::new("wg").args(line.split(' ')))?;
            hosts.ip(&format!("-n {host} addr add {address}/24 dev {device}"))?;
            hosts.ip(&format!("-n {host} link set {device} up mtu 1420"))?;
        }
        Ok(running)
    }
}

/// Seconds of processor time that these have used; `ip netns exec` has become what it runs.
fn used(running: &[Running]) -> f64 {
    let ticks = |process: &Running| -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", process.id())).ok()?;
        let fields: Vec<_> = text.rsplit(')').next()?.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(field(14)? + field(15)?)
    };
    // The kernel tells user space of a hundred ticks in a second (proc(5), USER_HZ).
    running.iter().filter_map(ticks).sum::<f64>() / 100.0
}

/// The most memory that one of these ever had resident, in KiB.
fn peak(running: &[Running]) -> f64 {
    let peak = |process: &Running| -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    running.iter().filter_map(peak).fold(0.0, f64::max)
}
