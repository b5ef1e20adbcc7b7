//! A mobile host, the far end of its cable, a gateway and a fixed host, each a network namespace, and what runs there.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::case::{Case, Scheme};
use super::load::thread_of;
use super::talk::Talk;
use crate::bench::files::daemons::{Daemons, Wishes};
use crate::bench::files::hosts::Hosts;
use crate::bench::files::link::{self, Link};
use crate::bench::{peers, setting};
use xtask::shell::Failure;

/// The processor of the mobile host's tasks.
const PROCESSOR: &str = "1";
/// The mobile host's address on its cable, and that of the cable's far end.
pub(super) const MOBILE: &str = "10.78.0.2";
const ACCESS: &str = "10.78.0.1";
/// The fixed host, and the gateway as it sees it.
pub(super) const FIXED: &str = "10.80.0.2";
const OUTSIDE: &str = "10.80.0.1";
/// Threads of the kernel that take packets in go before anything else, as the soft interrupts do that they stand for.
const FIRST: &str = "50";

/// The hosts; the gateway and the mobile host are those that [`Hosts`] has anyway.
pub(super) struct Rig {
    pub(super) hosts: Hosts,
    pub(super) fixed: String,
    access: String,
    /// The thread that takes in what arrives at the mobile host.
    pub(super) arrival: u32,
}

impl Rig {
    /// The hosts, without a hop between the gateway and the far end of the mobile host's cable.
    pub(super) fn new(folder: &Path) -> Result<Self, Failure> {
        let mut hosts = Hosts::new(folder, "split")?;
        hosts.end_with_us();
        let (fixed, access) = (hosts.add("f")?, hosts.add("a")?);
        let mut rig = Self {
            hosts,
            fixed,
            access,
            arrival: 0,
        };
        let (gateway, mobile) = (&rig.hosts.server, &rig.hosts.client);
        // The kernel's threads bear these names, and there may be another bench.
        let [near, far] = ["m", "a"].map(|end| format!("{end}{}", std::process::id()));
        for host in [mobile, &rig.access, gateway, &rig.fixed] {
            rig.set(host, "net/ipv6/conf/all/disable_ipv6", "1")?;
        }
        rig.hosts
            .join([(gateway, "wire0", OUTSIDE), (&rig.fixed, "wire0", FIXED)])?;
        rig.hosts
            .join([(&rig.access, &far, ACCESS), (mobile, &near, MOBILE)])?;
        rig.own_thread(&rig.access, &far, "0")?;
        let arrival = rig.own_thread(mobile, &near, PROCESSOR)?;
        for host in [gateway, &rig.access] {
            rig.set(host, "net/ipv4/ip_forward", "1")?;
        }
        for (host, via) in [(&rig.fixed, OUTSIDE), (mobile, ACCESS)] {
            rig.hosts
                .ip(&format!("-n {host} route add default via {via}"))?;
        }
        rig.arrival = arrival;
        Ok(rig)
    }

    /// Joins gateway and mobile host by an air.
    pub(super) fn start_air(&self, program: &Path, case: &Case) -> Result<Link, Failure> {
        let file = self.hosts.path("link.toml");
        peers::write(&file, &case.link())?;
        let (gateway, access) = (&self.hosts.server, &self.access);
        let air = Link::between(
            &self.hosts,
            program,
            [gateway, access],
            (&file.display().to_string(), case.seed),
        )?;
        let (left, right) = (link::SERVER, link::CLIENT);
        self.hosts
            .ip(&format!("-n {gateway} route add 10.78.0.0/24 via {right}"))?;
        self.hosts
            .ip(&format!("-n {access} route add default via {left}"))?;
        Ok(air)
    }

    /// Datagrams for the mobile host that cross the air, until the result is dropped. States of the air end after bits,
    /// not after time: a bad one would last for most of the few packets with which daemons begin.
    pub(super) fn stir(&self) -> Result<Talk, Failure> {
        let to = format!("{MOBILE}:9");
        let words = ["datagrams", "--count", "100000", "--each-ms", "20", "--to"];
        let words = [&words[..], &[&to]].concat();
        let mut talk = self.talk(&self.hosts.server, &words)?;
        talk.say("go")?;
        Ok(talk)
    }

    /// Starts the daemons, if there are any, and waits until both ends agree. What the gateway sends across the hop by
    /// the kernel's TCP gets that congestion control.
    pub(super) fn start_daemons<'a>(
        &'a self,
        program: &'a Path,
        (scheme, sender): (Scheme, &str),
    ) -> Result<Option<Daemons<'a>>, Failure> {
        let Some(mut gateway) = scheme.of_gateway().map(String::from) else {
            return Ok(None);
        };
        if scheme.is_split() {
            // Writing to a string cannot fail.
            let _ = write!(gateway, "[split]\ncongestion_control = \"{sender}\"\n");
        }
        let wishes = Wishes {
            gateway: &gateway,
            mobile: scheme.of_mobile(),
            route: "10.80.0.0/24",
        };
        let daemons = Daemons::start_with(&self.hosts, program, &wishes)?;
        pin(daemons.mobile_id())?;
        let method = if scheme.is_split() { "plain" } else { "arq" };
        self.hosts.wait("the daemons agree", || {
            let status = daemons.status("gateway").unwrap_or_default();
            let peer = &status["host"]["peers"][0];
            let is_ready = !peer["keys_age"].is_null() && peer["hop"]["tcp"]["method"] == method;
            is_ready && (!scheme.is_diverted() || self.diverts())
        })?;
        Ok(Some(daemons))
    }

    /// The host at the far end of the mobile host's cable.
    pub(super) fn access(&self) -> &str {
        &self.access
    }

    /// Whether the mobile host's connections are led to its daemon.
    fn diverts(&self) -> bool {
        let mut command = Command::new("nft");
        command.args(["list", "tables"]);
        let tables = self.hosts.run(&self.hosts.client, &command);
        tables.is_ok_and(|tables| tables.contains("lasthop_mobile_split"))
    }

    /// Starts one of our own programs in a host; that of the mobile host has its processor.
    pub(super) fn talk(&self, host: &str, words: &[&str]) -> Result<Talk, Failure> {
        Talk::start(self.hosts.inside(host, &self.ours(host, words)?))
    }

    fn ours(&self, host: &str, words: &[&str]) -> Result<Command, Failure> {
        let ourselves = setting::ourselves()?;
        let mut command = Command::new(&ourselves);
        if host == self.hosts.client {
            command = Command::new("taskset");
            command.args(["-c", PROCESSOR]).arg(ourselves);
        }
        command.args(["bench", "split-end"]);
        command.args(words);
        Ok(command)
    }

    /// Gives an interface a thread of the kernel that takes in its packets, on that processor.
    fn own_thread(&self, host: &str, interface: &str, processor: &str) -> Result<u32, Failure> {
        // A cable hands packets to such a thread only where it could join them, and their sender cannot.
        let mut command = Command::new("ethtool");
        command.args(["-K", interface, "gro", "on", "tso", "off"]);
        self.hosts.run(host, &command)?;
        let file = format!("/sys/class/net/{interface}/threaded");
        self.write(host, &file, "1")?;
        let mut thread = None;
        // The kernel still takes down the hosts of an earlier run, in which a thread had the same name.
        self.hosts.wait(
            "one kernel thread takes packets in (Linux 5.12 or later)",
            || {
                thread = thread_of(interface);
                thread.is_some()
            },
        )?;
        let thread = thread.expect("it was waited for");
        let id = thread.to_string();
        for words in [
            ["taskset", "-p", "-c", processor, &id],
            ["chrt", "-f", "-p", FIRST, &id],
        ] {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            self.hosts.shell.run(command)?;
        }
        Ok(thread)
    }

    fn set(&self, host: &str, name: &str, value: &str) -> Result<(), Failure> {
        self.write(host, &format!("/proc/sys/{name}"), value)
    }

    /// Writes a file of the kernel's, as a host sees it.
    fn write(&self, host: &str, file: &str, value: &str) -> Result<(), Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo {value} > {file}")]);
        self.hosts.run(host, &command).map(drop)
    }
}

/// Leaves a process, with all its threads, only the mobile host's processor.
fn pin(process: u32) -> Result<(), Failure> {
    let shell = xtask::shell::Shell::new(false);
    let mut command = Command::new("taskset");
    command.args(["-a", "-p", "-c", PROCESSOR, &process.to_string()]);
    shell.run(command).map(drop)
}
