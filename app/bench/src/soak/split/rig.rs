//! A mobile host, its gateway and a fixed host, with both daemons.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Serialize;
use serde_json::Value;

use crate::bench::files::daemons;
use crate::bench::files::hosts::{Hosts, Running};
use crate::bench::files::link::{self, Link};
use crate::bench::peers;
use crate::soak::watch::Fault;
use xtask::shell::Failure;

/// The fixed host's network namespace; the other two are those of [`Hosts`].
const FIXED: &str = "lasthop-files-split-f";
/// The gateway, as the fixed host sees it.
const OUTSIDE: &str = "198.51.100.1";
const FIXED_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const MOBILE_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 2);
const PORT: u16 = 51_830;
/// How long a connection may take while nothing is in its way.
const CONNECTING: Duration = Duration::from_secs(20);

/// The hop, where no other one is asked for.
const LINK: &str = "[each]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n\
    [errors]\nmodel = \"independent\"\np = \"2 %\"\n";

/// Which daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Victim {
    /// The gateway's
    Gateway,
    /// The mobile host's
    Mobile,
}

impl Victim {
    fn role(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Mobile => "mobile",
        }
    }
}

/// Who asks for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Mobile,
    Fixed,
}

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) mobile: TcpStream,
    pub(super) fixed: TcpStream,
}

/// The hosts, joined, and their daemons.
pub(super) struct Rig<'a> {
    hosts: &'a Hosts,
    program: &'a Path,
    /// Whether streams of MTCP are to cross the hop.
    streams: bool,
    gateway: Running,
    mobile: Running,
    _link: Link,
}

impl<'a> Rig<'a> {
    /// Joins the hosts and starts the daemons, with this transport, link and seed.
    pub(super) fn new(
        hosts: &'a Hosts,
        program: &'a Path,
        (transport, link, seed): (&str, Option<&str>, u64),
    ) -> Result<Self, Failure> {
        let file = hosts.path("link.toml");
        peers::write(&file, LINK)?;
        let file = file.display().to_string();
        let link = Link::over(hosts, program, (link.unwrap_or(&file), seed))?;
        wire(hosts)?;
        configure(hosts, program, transport)?;
        let rig = Self {
            hosts,
            program,
            streams: transport != "kernel-tcp",
            gateway: start(hosts, program, Victim::Gateway)?,
            mobile: start(hosts, program, Victim::Mobile)?,
            _link: link,
        };
        rig.wait()?;
        Ok(rig)
    }

    /// Ends a daemon at once (SIGKILL).
    pub(super) fn kill(&mut self, victim: Victim) {
        self.daemon(victim).stop();
    }

    /// Starts it again.
    pub(super) fn start(&mut self, victim: Victim) -> Result<(), Failure> {
        *self.daemon(victim) = start(self.hosts, self.program, victim)?;
        Ok(())
    }

    /// Waits until TCP is split. A mobile host that has nothing to send does not look for its gateway before its keys
    /// are two minutes old.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        let done = (0..4).any(|_| self.wait_for_a_while().is_ok());
        if done {
            Ok(())
        } else {
            self.wait_for_a_while()
        }
    }

    fn wait_for_a_while(&self) -> Result<(), Failure> {
        self.hosts.wait("TCP is split", || {
            let ends = [Victim::Gateway, Victim::Mobile].map(|end| self.status(end));
            let agreed = |status: &Value| {
                let peer = &status["host"]["peers"][0];
                !peer["keys_age"].is_null() && self.streams != peer["hop"]["streams"].is_null()
            };
            // The mobile host's rules come last.
            ends.iter().all(agreed) && (!self.streams || self.diverts())
        })
    }

    /// How many connections have crossed the hop as streams, if any do.
    pub(super) fn split_so_far(&self) -> u64 {
        let counters = &self.status(Victim::Gateway)["split"];
        let count = if self.streams { "on_streams" } else { "joined" };
        counters[count].as_u64().unwrap_or_default()
    }

    /// Waits until so many have: whoever asks may be there sooner.
    pub(super) fn wait_for_split(&self, count: u64) -> Result<(), Failure> {
        let what = format!("{count} connections are split");
        self.hosts.wait(&what, || self.split_so_far() >= count)
    }

    /// A connection between the mobile host and the fixed one.
    pub(super) fn connect(&self, asker: Asker) -> io::Result<Pair> {
        let (asking, asked, address) = match asker {
            Asker::Mobile => (&*self.hosts.client, FIXED, FIXED_ADDRESS),
            Asker::Fixed => (FIXED, &*self.hosts.client, MOBILE_ADDRESS),
        };
        let listener = within(asked, || TcpListener::bind((address, 0)))?;
        let address = listener.local_addr()?;
        let opened = within(asking, || TcpStream::connect_timeout(&address, CONNECTING))?;
        let (accepted, _) = listener.accept()?;
        Ok(match asker {
            Asker::Mobile => Pair {
                mobile: opened,
                fixed: accepted,
            },
            Asker::Fixed => Pair {
                mobile: accepted,
                fixed: opened,
            },
        })
    }

    /// The last of what the daemons have said.
    pub(super) fn logs(&self) -> Logs {
        Logs([Victim::Gateway, Victim::Mobile].map(|end| self.hosts.path(&log_of(end))))
    }

    /// What both daemons say of streams, for whoever looks for a fault.
    pub(super) fn describe(&self) -> Fault {
        let ends = [Victim::Gateway, Victim::Mobile].map(|end| {
            let status = self.status(end);
            let hop = &status["host"]["peers"][0]["hop"]["streams"];
            format!("  {}: {}\n    {hop}", end.role(), status["split"])
        });
        ends.join("\n")
    }

    fn status(&self, end: Victim) -> Value {
        let role = end.role();
        daemons::status(&self.hosts.shell, self.program, (role, role)).unwrap_or_default()
    }

    fn diverts(&self) -> bool {
        let mut command = Command::new("nft");
        command.args(["list", "tables"]);
        let tables = self.hosts.run(&self.hosts.client, &command);
        tables.is_ok_and(|tables| tables.contains("lasthop_mobile_split"))
    }

    fn daemon(&mut self, victim: Victim) -> &mut Running {
        match victim {
            Victim::Gateway => &mut self.gateway,
            Victim::Mobile => &mut self.mobile,
        }
    }
}

/// What the daemons say, also for who has no access to the rig meanwhile.
pub(super) struct Logs([PathBuf; 2]);

impl Logs {
    /// The last lines.
    pub(super) fn text(&self) -> Fault {
        let ends = self.0.iter().map(|path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<_> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(12)..];
            format!("  {}:\n    {}", path.display(), last.join("\n    "))
        });
        ends.collect::<Vec<_>>().join("\n")
    }
}

fn log_of(end: Victim) -> String {
    format!("{}.log", end.role())
}

/// Has `act` in that network namespace; what it opens stays there.
fn within<T: Send>(host: &str, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = File::open(Path::new("/run/netns").join(host))?;
    // A thread of its own, as the others stay where they are.
    thread::scope(|scope| {
        let there = scope.spawn(|| {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            act()
        });
        there
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The fixed host, and its wire to the gateway.
fn wire(hosts: &Hosts) -> Result<(), Failure> {
    hosts.create(FIXED)?;
    hosts.join([
        (&hosts.server, "wire1", OUTSIDE),
        (FIXED, "wire1", &FIXED_ADDRESS.to_string()),
    ])?;
    hosts.ip(&format!("-n {FIXED} route add 10.79.0.0/24 via {OUTSIDE}"))?;
    Ok(())
}

fn configure(hosts: &Hosts, program: &Path, transport: &str) -> Result<(), Failure> {
    let key = |name: &str| daemons::new_key(&hosts.shell, program, name);
    let (gateway, mobile) = (key("gateway.key")?, key("mobile.key")?);
    let address = link::SERVER;
    peers::write(
        &hosts.path("gateway.toml"),
        &format!(
            "private_key_file = \"gateway.key\"\nlisten = \"{address}:{PORT}\"\nnat = false\n\
             state_dir = \"gateway\"\n[tun]\naddresses = [\"10.79.0.1/24\"]\n\
             [[peers]]\nname = \"mobile\"\npublic_key = \"{mobile}\"\naddresses = [\"{MOBILE_ADDRESS}\"]\n\
             tcp = \"split\"\nsplit_transport = \"{transport}\"\n"
        ),
    )?;
    peers::write(
        &hosts.path("mobile.toml"),
        &format!(
            "private_key_file = \"mobile.key\"\nstate_dir = \"mobile\"\nroutes = [\"198.51.100.0/24\"]\n\
             [gateway]\nendpoint = \"{address}:{PORT}\"\npublic_key = \"{gateway}\"\n\
             [tun]\naddresses = [\"{MOBILE_ADDRESS}/24\"]\n"
        ),
    )
}

/// Starts a daemon; what it says follows what the former one said.
fn start(hosts: &Hosts, program: &Path, which: Victim) -> Result<Running, Failure> {
    let (role, log) = (which.role(), log_of(which));
    let host = match which {
        Victim::Gateway => &hosts.server,
        Victim::Mobile => &hosts.client,
    };
    let program = program.display();
    let mut command = Command::new("sh");
    // The shell becomes the daemon, so that what is killed is that.
    command.args([
        "-c",
        &format!("exec '{program}' {role} --config {role}.toml 2>>{log}"),
    ]);
    hosts.start(host, &command)
}
