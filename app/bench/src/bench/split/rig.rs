//! A mobile host, the far end of its cable, a gateway and a fixed host, each a network namespace, and their processes.

use std::path::Path;
use std::process::{Command, Stdio};

use rig::daemons::Daemons;
use rig::{Air, End, Namespace, Process};
use serde_json::Value;

use super::case::{Case, Scheme};
use super::load::thread_of;
use super::talk::Talk;
use crate::bench::{peers, setting};
use crate::failure::Failure;
use crate::hop::{self, Hop};

/// The processor of the mobile host's tasks.
const PROCESSOR: &str = "1";
/// The mobile host's address on its cable, and that of the cable's far end.
pub(super) const MOBILE: &str = "10.78.0.2";
const ACCESS: &str = "10.78.0.1";
/// The fixed host, and the gateway as the fixed host sees it.
pub(super) const FIXED: &str = "10.80.0.2";
const OUTSIDE: &str = "10.80.0.1";
/// Priority of the kernel threads that receive packets: above all else, like the soft interrupts that they replace.
const FIRST: &str = "50";

/// The hosts. Of the hop only its wired end is on the air itself.
pub(super) struct Rig {
    pub(super) hop: Hop,
    pub(super) fixed: Namespace,
    /// The host at the far end of the mobile host's cable.
    pub(super) access: Namespace,
    /// The kernel thread that receives the mobile host's packets.
    pub(super) arrival: u32,
}

impl Rig {
    /// Creates the hosts, without a hop between the gateway and the far end of the mobile host's cable.
    pub(super) fn new(folder: &Path, program: &Path) -> Result<Self, Failure> {
        let hop = Hop::new(folder, program)?;
        let [fixed, access] = rig::hosts()?;
        let (gateway, mobile) = (&hop.gateway, &hop.mobile);
        // The kernel's threads have these names, and another bench may run.
        let [near, far] = ["m", "a"].map(|end| format!("{end}{}", std::process::id()));
        for host in [mobile, &access, gateway, &fixed] {
            rig::set(host, "net/ipv6/conf/all/disable_ipv6", "1")?;
        }
        for ends in [
            [(gateway, "wire0", OUTSIDE), (&fixed, "wire0", FIXED)],
            [(&access, &far, ACCESS), (mobile, &near, MOBILE)],
        ] {
            let [one, other] = ends.map(|(_, _, address)| format!("{address}/24"));
            let [(left, near, _), (right, far, _)] = ends;
            rig::join([End::new(left, near, &one), End::new(right, far, &other)])?;
        }
        own_thread(&hop, &access, &far, "0")?;
        let arrival = own_thread(&hop, mobile, &near, PROCESSOR)?;
        for host in [gateway, &access] {
            rig::set(host, "net/ipv4/ip_forward", "1")?;
        }
        for (host, via) in [(&fixed, OUTSIDE), (mobile, ACCESS)] {
            rig::route(host, "0.0.0.0/0", via)?;
        }
        Ok(Self {
            hop,
            fixed,
            access,
            arrival,
        })
    }

    /// Joins gateway and mobile host by an air.
    pub(super) fn start_air(&self, case: &Case) -> Result<Air, Failure> {
        let file = self.hop.path("link.toml");
        peers::write(&file, &case.link())?;
        let air = self
            .hop
            .air_to(&self.access, &file.to_string_lossy(), case.seed)?;
        rig::route(&self.hop.gateway, "10.78.0.0/24", hop::MOBILE)?;
        rig::route(&self.access, "0.0.0.0/0", hop::GATEWAY)?;
        Ok(air)
    }

    /// Sends datagrams to the mobile host across the air, until the result is dropped. States of the air end after
    /// bits, not after time: a bad one would last for most of the few packets that daemons send at their start.
    pub(super) fn stir(&self) -> Result<Talk, Failure> {
        let to = format!("{MOBILE}:9");
        let words = ["datagrams", "--count", "100000", "--each-ms", "20", "--to"];
        let words = [&words[..], &[&to]].concat();
        let mut talk = self.talk(&self.hop.gateway, &words)?;
        talk.say("go")?;
        Ok(talk)
    }

    /// Starts the daemons, if there are any, the gateway's first, and waits until both ends are connected. The kernel's
    /// TCP from the gateway across the hop gets that congestion control.
    pub(super) fn start_daemons(
        &self,
        scheme: Scheme,
        sender: &str,
    ) -> Result<Vec<Process>, Failure> {
        let Some(peer) = scheme.of_gateway() else {
            return Ok(Vec::new());
        };
        let split = format!("[split]\ncongestion_control = \"{sender}\"\n");
        let is_split = scheme.is_split();
        let daemons = Daemons {
            gateway: if is_split { &split } else { "" },
            peer,
            route: Some("10.80.0.0/24"),
            mobile: scheme.of_mobile(),
            ..self.hop.daemons()
        };
        let processes = self.hop.start_daemons(&daemons)?;
        // The process with all its threads.
        let id = processes[1].id().to_string();
        run(&self.hop, &["taskset", "-a", "-p", "-c", PROCESSOR, &id])?;
        let method = if is_split { "plain" } else { "arq" };
        self.hop.wait("the daemons agree", || {
            let peer = &self.status()["host"]["peers"][0];
            let is_ready = !peer["keys_age"].is_null() && peer["hop"]["tcp"]["method"] == method;
            is_ready && (!scheme.is_diverted() || self.hop.diverts())
        })?;
        Ok(processes)
    }

    /// Returns the status of the gateway's daemon.
    pub(super) fn status(&self) -> Value {
        self.hop.daemons().status(0)
    }

    /// Starts one of our own programs on a host; on the mobile host it gets that host's processor.
    pub(super) fn talk(&self, host: &Namespace, words: &[&str]) -> Result<Talk, Failure> {
        let ourselves = setting::ourselves()?;
        let mut command = Command::new(&ourselves);
        if host.id() == self.hop.mobile.id() {
            command = Command::new("taskset");
            command.args(["-c", PROCESSOR]).arg(ourselves);
        }
        command.args(["bench", "split-end"]).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let folder = &self.hop.shell.root;
        Talk::start(Process::with_streams(command, "end", folder, Some(host))?)
    }
}

/// Gives an interface a kernel thread on that processor, which receives its packets.
fn own_thread(
    hop: &Hop,
    host: &Namespace,
    interface: &str,
    processor: &str,
) -> Result<u32, Failure> {
    let mut command = Command::new("unshare");
    // A cable hands packets to such a thread only if it could merge them, which their sender cannot. Of the kernel's
    // files of interfaces, each host sees only its own.
    let script = format!(
        "ethtool -K {interface} gro on tso off && mount -t sysfs sysfs /sys && \
         echo 1 > /sys/class/net/{interface}/threaded"
    );
    command.args(["--mount", "sh", "-c", &script]);
    hop.run(host, command)?;
    let mut thread = None;
    // The kernel still removes the hosts of an earlier run, in which a thread had the same name.
    hop.wait(
        "one kernel thread takes packets in (Linux 5.12 or later)",
        || {
            thread = thread_of(interface);
            thread.is_some()
        },
    )?;
    let thread = thread.expect("it was waited for");
    let id = thread.to_string();
    run(hop, &["taskset", "-p", "-c", processor, &id])?;
    run(hop, &["chrt", "-f", "-p", FIRST, &id])?;
    Ok(thread)
}

/// Runs a program to its end.
fn run(hop: &Hop, words: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    Ok(hop.shell.run(command).map(drop)?)
}
