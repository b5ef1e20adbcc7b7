//! A site: gateways that serve a mobile host in turn, each on a link of its own, and a fixed host behind the first one,
//! which is the mobile host's home.

use std::fmt::{Display, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use serde_json::Value;

use crate::air::{Air, Link};
use crate::daemons::{make_key, status};
use crate::failure::Failure;
use crate::hosts::{End, hosts, join, on, parse, route, route_by_link, set_up};
use crate::process::{Process, wait};

/// Names of the gateways; the first one is the home.
pub const GATEWAYS: [&str; 3] = ["east", "west", "north"];
/// Name of the mobile host.
pub const MOBILE: &str = "tablet";
/// Inner address of the mobile host, and the fixed host.
const INSIDE: &str = "10.73.0.2";
const FIXED: &str = "198.51.100.2";
const PORT: u16 = 51_830;
const PATIENCE: Duration = Duration::from_mins(1);

/// The hosts, and the folder of their files.
pub struct Site {
    /// The host behind the home.
    pub fixed: Namespace,
    /// The gateways.
    pub gateways: [Namespace; 3],
    /// The mobile host.
    pub mobile: Namespace,
    program: PathBuf,
    folder: PathBuf,
    _airs: Vec<Air>,
}

/// Files of emulated links, as `lasthop emulate` reads them; what has none is a cable.
#[derive(Debug, Clone, Copy, Default)]
pub struct Links<'a> {
    /// From each gateway to the mobile host.
    pub hops: [Option<&'a Path>; GATEWAYS.len()],
    /// Between each two gateways.
    pub wires: Option<&'a Path>,
}

impl<'a> Links<'a> {
    /// Returns links that are alike from each gateway to the mobile host, and between each two gateways.
    pub fn alike(hop: &'a Path, wires: Option<&'a Path>) -> Self {
        Self {
            hops: [Some(hop); GATEWAYS.len()],
            wires,
        }
    }
}

/// Returns the address of a gateway on its wires to the others.
fn on_cable(gateway: usize) -> String {
    format!("172.30.0.{}", gateway + 1)
}

/// Returns the address of a gateway on its link to the mobile host.
fn on_air(gateway: usize) -> String {
    format!("10.1.{gateway}.1")
}

impl Site {
    /// Creates the hosts, and files for their daemons; the lines `terms` are of the mobile host's section at its home.
    pub fn new(
        program: &Path,
        folder: &Path,
        links: Links<'_>,
        terms: &str,
    ) -> Result<Self, Failure> {
        let [fixed, mobile, east, west, north] = hosts()?;
        let site = Self {
            fixed,
            gateways: [east, west, north],
            mobile,
            program: program.into(),
            folder: folder.into(),
            _airs: Vec::new(),
        };
        let mut airs = Vec::new();
        for gateway in 0..GATEWAYS.len() {
            airs.extend(site.connect(gateway, links)?);
        }
        let outside = format!("{FIXED}/24");
        join([
            End::new(&site.gateways[0], "wire", "198.51.100.1/24"),
            End::new(&site.fixed, "wire", &outside),
        ])?;
        route(&site.fixed, "10.73.0.0/24", "198.51.100.1")?;
        site.configure(terms)?;
        Ok(Self {
            _airs: airs,
            ..site
        })
    }

    /// Joins a gateway with the mobile host and with the gateways after it; returns the emulated links.
    fn connect(&self, gateway: usize, links: Links<'_>) -> Result<Vec<Air>, Failure> {
        let host = &self.gateways[gateway];
        let mut airs = Vec::new();
        for other in gateway + 1..GATEWAYS.len() {
            let [near, far] = [gateway, other].map(|one| format!("{}/32", on_cable(one)));
            let [there, here] = [gateway, other].map(|to| format!("to-{}", GATEWAYS[to]));
            let name = format!("wire{gateway}{other}");
            let other = &self.gateways[other];
            let ends = [End::new(host, &here, &near), End::new(other, &there, &far)];
            airs.extend(self.join_by(links.wires, &name, ends)?);
            route_by_link(host, &far, &here)?;
            route_by_link(other, &near, &there)?;
        }
        let device = format!("air{gateway}");
        let [near, far] = [1, 2].map(|host| format!("10.1.{gateway}.{host}/24"));
        let ends = [
            End::new(host, &device, &near),
            End::new(&self.mobile, &device, &far),
        ];
        airs.extend(self.join_by(links.hops[gateway], &device, ends)?);
        Ok(airs)
    }

    /// Joins two hosts by the link in this file, whose emulator has a folder of this name, or by a cable.
    fn join_by(
        &self,
        link: Option<&Path>,
        name: &str,
        ends: [End<'_>; 2],
    ) -> Result<Option<Air>, Failure> {
        let Some(link) = link else {
            join(ends)?;
            return Ok(None);
        };
        let folder = self.folder.join(name);
        fs::create_dir(&folder).map_err(Failure::file("create", &folder))?;
        let link = Link {
            program: &self.program,
            folder: &folder,
            link: &link.display().to_string(),
            // Each link has losses of its own.
            seed: name.bytes().map(u64::from).sum(),
        };
        Air::between(link, ends).map(Some)
    }

    /// Gives a gateway that is not the home a way of its own to the fixed host, with translated addresses.
    pub fn connect_outside(&self, gateway: usize) -> Result<(), Failure> {
        let host = &self.gateways[gateway];
        let [near, far] = [1, 2].map(|end| format!("10.2.{gateway}.{end}/24"));
        let device = format!("outside{gateway}");
        join([
            End::new(host, &device, &near),
            End::new(&self.fixed, &device, &far),
        ])?;
        route_by_link(host, &format!("{FIXED}/32"), &device)
    }

    /// Makes the fixed host and the gateways neighbours on a LAN, which is the link `wire` of each gateway. On it the
    /// fixed host looks for the mobile host's address.
    pub fn join_lan(&self) -> Result<(), Failure> {
        const LAN: &str = "lan";
        let outside = parse(&format!("{FIXED}/24"))?;
        on(&self.fixed, || {
            let mut netlink = Netlink::open()?;
            netlink.remove_address("wire", outside)?;
            netlink.create_bridge(LAN)?;
            netlink.set_bridge("wire", Some(LAN))?;
            netlink.add_address(LAN, outside)?;
            Ok(netlink.set_up(LAN)?)
        })?;
        for (gateway, host) in self.gateways.iter().enumerate().skip(1) {
            let port = format!("port{gateway}");
            on(host, || {
                let mut netlink = Netlink::open()?;
                netlink.create_veth("wire", &port)?;
                Ok(netlink.move_link(&port, &self.fixed)?)
            })?;
            on(&self.fixed, || {
                let mut netlink = Netlink::open()?;
                netlink.set_bridge(&port, Some(LAN))?;
                Ok(netlink.set_up(&port)?)
            })?;
            let address = format!("198.51.100.{}/24", 10 + gateway);
            set_up(End::new(host, "wire", &address))?;
        }
        route_by_link(&self.fixed, "10.73.0.0/24", LAN)
    }

    /// Has packets from the fixed host to the mobile host come in at a gateway with a way of its own.
    pub fn lead_straight(&self, gateway: usize) -> Result<(), Failure> {
        let inside = format!("{INSIDE}/32");
        route_by_link(&self.gateways[gateway], &inside, "lasthop0")?;
        route(&self.fixed, &inside, &format!("10.2.{gateway}.1"))
    }

    /// Returns the bytes that have come in at a gateway by its own way to the fixed host.
    pub fn outside(&self, gateway: usize) -> u64 {
        let read = || fs::read_to_string("/proc/thread-self/net/dev");
        let devices = self.gateways[gateway].run(read).ok().and_then(Result::ok);
        let devices = devices.unwrap_or_default();
        let device = format!("outside{gateway}:");
        let mut lines = devices.lines().map(str::trim);
        let line = lines.find_map(|line| line.strip_prefix(device.as_str()));
        let bytes = line.and_then(|line| line.split_whitespace().next());
        bytes
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or_default()
    }

    fn configure(&self, terms: &str) -> Result<(), Failure> {
        let key = |name| make_key(&self.program, &self.folder, name);
        let keys: Vec<_> = GATEWAYS.into_iter().map(key).collect::<Result<_, _>>()?;
        let mobile = key(MOBILE)?;
        for (own, name) in GATEWAYS.iter().enumerate() {
            let mut text = common(name);
            let _ = write!(
                text,
                "nat = {}\n[tun]\naddresses = [\"10.7{}.0.1/24\"]\n",
                own > 0,
                own + 3
            );
            // The home knows all, and the others are told.
            let known = |other: &usize| *other != own && (own == 0 || *other == 0);
            for (other, key) in keys.iter().enumerate().filter(|(other, _)| known(other)) {
                text += &section("[gateways]", other, key, &on_cable(other));
                let _ = writeln!(text, "mobile_endpoint = \"{}:{PORT}\"", on_air(other));
            }
            if own == 0 {
                let folders = "peers_folder = \"peers\"\ngateways_folder = \"gateways\"\n";
                text.insert_str(0, folders);
            }
            self.write(&format!("{name}.toml"), &text)?;
        }
        for folder in ["peers", "gateways"] {
            let folder = self.folder.join(folder);
            fs::create_dir(&folder).map_err(Failure::file("create", &folder))?;
        }
        let entry = format!("public_key = \"{mobile}\"\naddresses = [\"{INSIDE}\"]\n{terms}\n");
        self.write(&format!("peers/{MOBILE}.toml"), &entry)?;
        let mut text = common(MOBILE) + "routes = [\"198.51.100.0/24\"]\n";
        let _ = write!(text, "[tun]\naddresses = [\"{INSIDE}/24\"]\n");
        text += &section("gateway", 0, &keys[0], &on_air(0));
        self.write(&format!("{MOBILE}.toml"), &text)
    }

    /// Returns the configuration of the home.
    pub fn configuration(&self) -> PathBuf {
        self.folder.join(format!("{}.toml", GATEWAYS[0]))
    }

    /// Runs `lasthop` with these arguments on the home, for the configuration of its gateway.
    pub fn administer(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--config");
        command.arg(self.configuration());
        let output = self.gateways[0].run(|| command.output());
        let failed = |error: &dyn Display| Failure::Found(format!("cannot run lasthop: {error}"));
        let output = output.map_err(|error| failed(&error))?;
        output.map_err(|error| failed(&error))
    }

    /// Writes a file in the folder of the site.
    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(Failure::file("write", &path))
    }

    /// Starts the daemon of a host.
    pub fn start(&self, name: &str) -> Result<Process, Failure> {
        self.start_with(name, &[])
    }

    /// Has another process take the place of a gateway's, and waits for the end of that one.
    ///
    /// # Errors
    /// If it cannot start, or the former one fails.
    pub fn succeed(&self, name: &str, daemon: &mut Process) -> Result<(), Failure> {
        let next = self.start_with(name, &["--take-over"])?;
        let mut former = std::mem::replace(daemon, next);
        let ended = former.wait()?;
        if ended.success() {
            return Ok(());
        }
        Err(Failure::Found(format!("{name} has ended with {ended}")))
    }

    fn start_with(&self, name: &str, options: &[&str]) -> Result<Process, Failure> {
        let gateway = GATEWAYS.iter().position(|gateway| *gateway == name);
        let (role, host) = match gateway {
            Some(gateway) => ("gateway", &self.gateways[gateway]),
            None => ("mobile", &self.mobile),
        };
        self.start_on(host, [role, name], options)
    }

    /// Starts a daemon on a host in a role, `gateway` or `mobile`, with the configuration of a name.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_on(
        &self,
        host: &Namespace,
        [role, name]: [&str; 2],
        options: &[&str],
    ) -> Result<Process, Failure> {
        let mut command = Command::new(&self.program);
        command.args([role, "--config", &format!("{name}.toml")]);
        command.args(options);
        command.current_dir(&self.folder);
        Process::start(command, name, &self.folder, Some(host))
    }

    /// Starts all daemons, and waits until the gateways know each other and the home serves the mobile host.
    pub fn start_all(&self) -> Result<Vec<Process>, Failure> {
        let names = GATEWAYS.into_iter().chain([MOBILE]);
        let daemons = names
            .map(|name| self.start(name))
            .collect::<Result<_, _>>()?;
        wait("the home serves", PATIENCE, || {
            self.serving() == GATEWAYS[0]
        })?;
        wait("all know each other", PATIENCE, || {
            let mut names = GATEWAYS.into_iter().chain([MOBILE]);
            names.all(|name| self.knows_all(name))
        })?;
        Ok(daemons)
    }

    /// Returns true if a daemon has been told of all hosts, and has keys with the other gateways if it is one itself.
    fn knows_all(&self, name: &str) -> bool {
        let status = self.status(name);
        let peers = status["host"]["peers"].as_array();
        let is_there = |peer: &Value| peer["site"] != "gateway" || !peer["keys_age"].is_null();
        peers.is_some_and(|peers| peers.len() == GATEWAYS.len() && peers.iter().all(is_there))
    }

    /// Returns the status of a host's daemon; null if it does not answer.
    pub fn status(&self, name: &str) -> Value {
        status(&self.program, name, &self.folder.join(name)).unwrap_or_default()
    }

    /// Returns the name of the gateway that serves the mobile host, or relays, as that knows; empty if none does.
    pub fn serving(&self) -> String {
        let status = self.status(MOBILE);
        let peers = || status["host"]["peers"].as_array().into_iter().flatten();
        let with = |site: &str| peers().find(|peer| peer["site"] == site);
        let serves = with("relays").or_else(|| with("serves"));
        let name = serves.and_then(|peer| peer["name"].as_str());
        name.unwrap_or_default().to_owned()
    }

    /// Runs `lasthop` with these arguments for the daemon of a host.
    pub fn run(&self, name: &str, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .args(["--name", name, "--state-dir"]);
        let output = command.arg(self.folder.join(name)).output();
        output.map_err(|error| Failure::Found(format!("cannot run lasthop: {error}")))
    }

    /// Returns the files in which the daemons log.
    pub fn log_files(&self) -> impl Iterator<Item = PathBuf> {
        let names = GATEWAYS.into_iter().chain([MOBILE]);
        names.map(|name| self.folder.join(format!("{name}.log")))
    }

    /// Returns what the daemons have logged.
    pub fn logs(&self) -> String {
        let mut logs = String::new();
        for file in self.log_files() {
            let name = file.file_stem().unwrap_or_default().display();
            let log = fs::read_to_string(&file);
            // Writing to a string cannot fail.
            let _ = writeln!(logs, "{name}:\n{}", log.unwrap_or_default());
        }
        logs
    }
}

fn common(name: &str) -> String {
    format!(
        "name = \"{name}\"\nprivate_key_file = \"{name}.key\"\nstate_dir = \"{name}\"\ndns = \"none\"\n"
    )
}

/// Returns the section of a gateway.
fn section(kind: &str, gateway: usize, key: &str, address: &str) -> String {
    let name = GATEWAYS[gateway];
    format!(
        "[{kind}]\nname = \"{name}\"\npublic_key = \"{key}\"\nendpoint = \"{address}:{PORT}\"\n"
    )
}
