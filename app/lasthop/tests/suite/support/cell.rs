//! One gateway and four mobile hosts on one emulated air that fades, each in a network namespace.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use edges::namespace::Namespace;
use rig::daemons::Daemons;
use rig::{Air, Link};
use serde_json::Value;
use tempfile::TempDir;

use super::turn::Turn;
use super::{Daemon, PROGRAM, carry, connect, wait_until};

pub(crate) const MOBILES: usize = 4;
const LINK: &str = "medium = \"half-duplex\"\n[each]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n\
    [errors]\nmodel = \"temporal\"\ngood = { distribution = \"exponential\", mean = \"400 ms\" }\n\
    bad = { distribution = \"exponential\", mean = \"80 ms\" }\n";
/// So much each mobile host fetches, in bytes.
pub(crate) const SIZE: usize = 1_500_000;

/// Host 0 is the gateway, the others are mobile hosts.
pub(crate) struct Cell {
    pub(crate) hosts: Vec<Namespace>,
    folder: TempDir,
    air: Air,
    _turn: Turn,
}

impl Cell {
    /// Hosts with their devices on the air, and their configurations; that of the gateway has `more`.
    pub(crate) fn create(more: &str) -> Self {
        let turn = Turn::take();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("link.toml");
        fs::write(&file, LINK).unwrap();
        let link = Link {
            program: Path::new(PROGRAM),
            folder: folder.path(),
            link: file.to_str().unwrap(),
            seed: 1,
        };
        let rig::Cell { hosts, air } = rig::Cell::new(link, MOBILES, "10.1.0", &[]).unwrap();
        let daemons = Daemons {
            gateway: &format!("[air]\nshared = true\n{more}"),
            ..daemons(folder.path())
        };
        daemons.configure().unwrap();
        Self {
            hosts,
            folder,
            air,
            _turn: turn,
        }
    }

    /// Replaces text in the gateway's configuration, wherever it stands.
    pub(crate) fn reconfigure(&self, old: &str, new: &str) {
        let file = self.folder.path().join("gateway.toml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(old), "there is no '{old}'");
        fs::write(file, text.replace(old, new)).unwrap();
    }

    fn daemons(&self) -> Daemons<'_> {
        daemons(self.folder.path())
    }

    /// Starts the daemon of that host.
    pub(crate) fn start(&self, host: usize) -> Daemon {
        Daemon(self.daemons().start(host, &self.hosts[host]).unwrap())
    }

    /// What the gateway says of its mobile host with this index to a person.
    pub(crate) fn page(&self, index: usize) -> String {
        let peers = self.peers();
        let name = peers[index]["name"].as_str().unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["status", "--name", "gateway", "--state-dir", "gateway"]);
        command.args(["--peer", name]);
        let output = command.current_dir(self.folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same for a program.
    pub(crate) fn status(&self) -> Value {
        self.daemons().status(0)
    }

    pub(crate) fn peers(&self) -> Vec<Value> {
        let status = self.status();
        let peers = status["host"]["peers"].as_array();
        peers.cloned().unwrap_or_default()
    }

    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let logs = || (0..=MOBILES).map(|host| self.log(host)).collect();
        wait_until(what, logs, condition);
    }

    /// What the daemon of that host has logged.
    pub(crate) fn log(&self, host: usize) -> String {
        let name = format!("{}.log", self.daemons().name(host));
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Lets a mobile host fetch from the gateway by TCP, and checks each byte.
    pub(crate) fn fetch(&self, mobile: usize) {
        let connected = connect(&self.hosts[mobile], &self.hosts[0], inside(0));
        let (client, server) = connected.unwrap();
        carry(server, client, SIZE);
    }

    /// Ends the emulator; gives its last report.
    pub(crate) fn end(self) -> Value {
        self.air.end().unwrap()
    }
}

fn daemons(folder: &Path) -> Daemons<'_> {
    Daemons {
        mobiles: MOBILES,
        endpoint: Some("10.1.0.1:51830"),
        inside: "10.73.0",
        route: Some("192.0.2.0/24"),
        ..Daemons::new(Path::new(PROGRAM), folder)
    }
}

pub(crate) fn outer(host: usize) -> String {
    format!("10.1.0.{}", host + 1)
}

/// The address of a host inside the tunnel.
pub(crate) fn inside(host: usize) -> IpAddr {
    [10, 73, 0, 1 + host as u8].into()
}
