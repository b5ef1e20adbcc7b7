//! `cargo xtask bench tunnel`: TCP through a tunnel over a veth pair without loss, by turns through
//! lasthop, by UDP and by Ethernet frames, and wireguard-go. Needs root.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{peers, setting};
use crate::shell::{Failure, Shell};

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("iperf3", "iperf3"), ("ip", "iproute2")];
const GATEWAY: &str = "lasthop-bench-g";
const MOBILE: &str = "lasthop-bench-m";
/// The gateway's address inside both tunnels.
const INSIDE: &str = "10.73.0.1";
/// How long a tunnel may take to stand.
const PATIENCE: Duration = Duration::from_secs(10);

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
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::Found(format!("no temporary folder: {error}")))?;
    let tunnels = match &options.tunnel[..] {
        [] => &Tunnel::ALL,
        chosen => chosen,
    };
    let build = || peers::wireguard(shell, folder.path());
    let is_compared = tunnels.contains(&Tunnel::Wireguard);
    let wireguard = is_compared.then(build).transpose()?;
    let bench = Bench {
        shell: Shell {
            root: folder.path().into(),
            verbose: false,
        },
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
    /// In the folder of the bench.
    shell: Shell,
    lasthop: PathBuf,
    /// Where it is among the tunnels.
    wireguard: Option<PathBuf>,
    seconds: u64,
}

/// Processes that are killed when this is dropped, and the namespaces with them.
struct Hosts<'a> {
    bench: &'a Bench,
    tunnel: Vec<Child>,
    server: Option<Child>,
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        for child in self.tunnel.iter_mut().chain(&mut self.server) {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.bench.remove();
    }
}

impl Bench {
    fn turn(&self, tunnel: Tunnel, turn: usize) -> Result<(), Failure> {
        self.remove();
        let mut hosts = Hosts {
            bench: self,
            tunnel: Vec::new(),
            server: None,
        };
        self.build()?;
        hosts.tunnel = match tunnel {
            Tunnel::Udp => self.lasthop(&UDP)?,
            Tunnel::Ethernet => self.lasthop(&ETHERNET)?,
            Tunnel::Wireguard => self.wireguard()?,
        };
        // On all addresses: that of the tunnel may not be there yet.
        hosts.server = Some(self.spawn(GATEWAY, Command::new("iperf3").arg("-s"))?);
        self.wait_for_tunnel()?;
        let before = used(&hosts.tunnel);
        let seconds = self.seconds.to_string();
        let text = self.inside(
            MOBILE,
            &["iperf3", "-c", INSIDE, "-R", "-J", "-t", &seconds],
        )?;
        let (after, peak) = (used(&hosts.tunnel), peak(&hosts.tunnel));
        let report: Value = serde_json::from_str(&text).map_err(|error| {
            Failure::Found(format!("iperf3's report cannot be read: {error}\n{text}"))
        })?;
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

    fn ip(&self, line: &str) -> Result<String, Failure> {
        let mut command = Command::new("ip");
        command.args(line.split(' '));
        self.shell.run(command)
    }

    fn inside(&self, host: &str, words: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host]).args(words);
        self.shell.run(command)
    }

    fn spawn(&self, host: &str, inner: &Command) -> Result<Child, Failure> {
        let mut command = Command::new("ip");
        command
            .current_dir(&self.shell.root)
            .args(["netns", "exec", host])
            .arg(inner.get_program())
            .args(inner.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().map_err(|source| Failure::Start {
            command: format!("{command:?}"),
            source,
        })
    }

    fn build(&self) -> Result<(), Failure> {
        for (host, device, address) in [(GATEWAY, "g0", "10.1.0.1"), (MOBILE, "m0", "10.1.0.2")] {
            self.ip(&format!("netns add {host}"))?;
            self.ip(&format!("-n {host} link set lo up"))?;
            if host == MOBILE {
                self.ip(&format!(
                    "-n {GATEWAY} link add g0 type veth peer name m0 netns {MOBILE}"
                ))?;
                self.ip(&format!("-n {GATEWAY} addr add 10.1.0.1/24 dev g0"))?;
                self.ip(&format!("-n {GATEWAY} link set g0 up"))?;
                self.ip(&format!("-n {host} addr add {address}/24 dev {device}"))?;
                self.ip(&format!("-n {host} link set {device} up"))?;
            }
        }
        Ok(())
    }

    fn remove(&self) {
        for host in [GATEWAY, MOBILE] {
            // There is none after a run that cleaned up.
            let _ = self.ip(&format!("netns del {host}"));
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        peers::write(&self.shell.root.join(name), text)
    }

    /// The two daemons, by that bearer.
    fn lasthop(&self, bearer: &Bearer) -> Result<Vec<Child>, Failure> {
        let Bearer { hop, endpoint } = bearer;
        let key = |name: &str| {
            let _ = fs::remove_file(self.shell.root.join(name));
            let mut command = Command::new(&self.lasthop);
            command.current_dir(&self.shell.root).args(["keygen", name]);
            let text = self.shell.run(command)?;
            let public = text.split_whitespace().last().unwrap_or_default();
            Ok::<_, Failure>(public.to_owned())
        };
        let (gateway, mobile) = (key("g.key")?, key("m.key")?);
        self.write(
            "g.toml",
            &format!(
                "private_key_file = \"g.key\"\nnat = false\nstate_dir = \"g\"\n\
                 {}[tun]\naddresses = [\"{INSIDE}/24\"]\n\
                 [[peers]]\nname = \"mobile\"\npublic_key = \"{mobile}\"\naddresses = [\"10.73.0.2\"]\n",
                hop[0]
            ),
        )?;
        self.write(
            "m.toml",
            &format!(
                "private_key_file = \"m.key\"\nstate_dir = \"m\"\nroutes = [\"10.99.0.0/24\"]\n\
                 {}[gateway]\n{endpoint}public_key = \"{gateway}\"\n\
                 [tun]\naddresses = [\"10.73.0.2/24\"]\n",
                hop[1]
            ),
        )?;
        let daemon = |host, role: &str, config: &str| {
            self.spawn(
                host,
                Command::new(&self.lasthop).args([role, "--config", config]),
            )
        };
        Ok(vec![
            daemon(GATEWAY, "gateway", "g.toml")?,
            daemon(MOBILE, "mobile", "m.toml")?,
        ])
    }

    fn wireguard(&self) -> Result<Vec<Child>, Failure> {
        let program = self.wireguard.as_ref();
        let program = program.expect("it is built where it is among the tunnels");
        let mut children = Vec::new();
        let mut keys = Vec::new();
        for name in ["wg.g", "wg.m"] {
            let mut command = Command::new("wg");
            command.arg("genkey");
            let private = self.shell.run(command)?;
            self.write(name, &private)?;
            let mut command = Command::new("sh");
            command
                .current_dir(&self.shell.root)
                .args(["-c", &format!("wg pubkey < {name}")]);
            keys.push(self.shell.run(command)?.trim().to_owned());
        }
        let ends = [
            (
                GATEWAY,
                "lhbench-g",
                "wg.g",
                "10.73.0.1",
                format!("{} allowed-ips 10.73.0.2/32", keys[1]),
            ),
            (
                MOBILE,
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
            children.push(self.spawn(host, Command::new(program).args(["-f", device]))?);
            self.wait_until(|| socket.exists())?;
            let key = self.shell.root.join(key);
            let line = format!(
                "wg set {device} listen-port 51820 private-key {} peer {peer}",
                key.display()
            );
            self.inside(host, &line.split(' ').collect::<Vec<_>>())?;
            self.ip(&format!("-n {host} addr add {address}/24 dev {device}"))?;
            self.ip(&format!("-n {host} link set {device} up mtu 1420"))?;
        }
        Ok(children)
    }

    fn wait_for_tunnel(&self) -> Result<(), Failure> {
        self.wait_until(|| {
            self.inside(MOBILE, &["iperf3", "-c", INSIDE, "-n", "1K"])
                .is_ok()
        })
    }

    fn wait_until(&self, mut done: impl FnMut() -> bool) -> Result<(), Failure> {
        let pause = Duration::from_millis(100);
        for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
            if done() {
                return Ok(());
            }
            thread::sleep(pause);
        }
        let folder = self.shell.root.display();
        Err(Failure::Found(format!(
            "the tunnel does not stand ({folder})"
        )))
    }
}

/// Seconds of processor time that these have used; `ip netns exec` has become what it runs.
fn used(children: &[Child]) -> f64 {
    let ticks = |child: &Child| -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        let fields: Vec<_> = text.rsplit(')').next()?.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(field(14)? + field(15)?)
    };
    // The kernel tells user space of a hundred ticks in a second (proc(5), USER_HZ).
    children.iter().filter_map(ticks).sum::<f64>() / 100.0
}

/// The most memory that one of these ever had resident, in KiB.
fn peak(children: &[Child]) -> f64 {
    let peak = |child: &Child| -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    children.iter().filter_map(peak).fold(0.0, f64::max)
}
