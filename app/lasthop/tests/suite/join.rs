//! A gateway without a configuration of the user's, and mobile hosts that join it by a line.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use edges::namespace::Namespace;
use rig::{End, hosts};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::turn::Turn;
use crate::support::{LONG, PROGRAM, able, wait_until};

/// The gateway as the mobile hosts see it, and a fixed host behind it.
pub(crate) const FIXED: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// A command's exit code and output.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A fixed host, a gateway, and two mobile hosts, each on a cable of its own. Ends all daemons when it is dropped.
pub(crate) struct Site {
    pub(crate) fixed: Namespace,
    pub(crate) gateway: Namespace,
    pub(crate) mobiles: [Namespace; 2],
    folder: TempDir,
    _turn: Turn,
}

impl Site {
    pub(crate) fn create() -> Self {
        let turn = Turn::take();
        let [fixed, gateway, first, second] = hosts().unwrap();
        let mobiles = [first, second];
        for (host, name, net) in [
            (&fixed, "wire", "198.51.100"),
            (&mobiles[0], "air0", "10.1.1"),
            (&mobiles[1], "air1", "10.1.2"),
        ] {
            let [near, far] = [1, 2].map(|host| format!("{net}.{host}/24"));
            rig::join([End::new(&gateway, name, &near), End::new(host, name, &far)]).unwrap();
        }
        for (mobile, via) in mobiles.iter().zip(["10.1.1.1", "10.1.2.1"]) {
            rig::route(mobile, "0.0.0.0/0", via).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        Self {
            fixed,
            gateway,
            mobiles,
            folder,
            _turn: turn,
        }
    }

    /// Returns the state folder of a host: the gateway or a mobile host.
    pub(crate) fn state(&self, host: &str) -> PathBuf {
        self.folder.path().join(host)
    }

    /// Runs a command in a host, with that host's state folder.
    pub(crate) fn run(&self, host: &str, arguments: &[&str]) -> Ran {
        let mut command = self.command(host, arguments);
        let output = self.host(host).run(|| command.output().unwrap()).unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Begins a command in a host.
    pub(crate) fn begin(&self, host: &str, arguments: &[&str]) -> Child {
        let mut command = self.command(host, arguments);
        self.host(host).run(|| command.spawn().unwrap()).unwrap()
    }

    fn host(&self, host: &str) -> &Namespace {
        match host {
            "gateway" => &self.gateway,
            "mobile0" => &self.mobiles[0],
            _ => &self.mobiles[1],
        }
    }

    fn command(&self, host: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg("--state").arg(self.state(host));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command that must succeed; returns its standard output.
    pub(crate) fn done(&self, host: &str, arguments: &[&str]) -> String {
        let ran = self.run(host, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        ran.stdout
    }

    /// Runs a command that must fail with this exit code; returns its message.
    pub(crate) fn refused(&self, host: &str, code: i32, arguments: &[&str]) -> String {
        let ran = self.run(host, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
        ran.stderr
    }

    /// Makes the gateway, and returns the line for its first mobile host.
    pub(crate) fn up(&self) -> String {
        line_of(&self.done("gateway", &["gateway", "up"]))
    }

    pub(crate) fn invite(&self, name: &str) -> String {
        line_of(&self.done("gateway", &["invite", "--name", name]))
    }

    /// Returns the state of a mobile host in the gateway's list.
    pub(crate) fn state_of(&self, name: &str) -> String {
        let list: Value =
            serde_json::from_str(&self.done("gateway", &["peers", "--json"])).unwrap();
        let list = list.as_array().cloned().unwrap_or_default();
        let peer = list.iter().find(|peer| peer["name"] == name);
        peer.map_or("none".into(), |peer| peer["state"].as_str().unwrap().into())
    }

    pub(crate) fn wait_for_state(&self, name: &str, state: &str) {
        let log =
            || fs::read_to_string(self.state("gateway/gateway/gateway.log")).unwrap_or_default();
        wait_until(state, log, || self.state_of(name).starts_with(state));
    }

    /// Waits until the status of a mobile host names this trouble.
    pub(crate) fn wait_for_trouble(&self, mobile: &str, code: &str) {
        let folder = self.state(mobile).join("run");
        let show = |options: &[&str]| {
            let mut command = Command::new(PROGRAM);
            command.arg("status").args(options);
            let output = command.arg("--state-dir").arg(&folder).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let trouble = || {
            let status: Value = serde_json::from_str(&show(&["--json"])).unwrap_or_default();
            status["host"]["peers"][0]["trouble"].clone()
        };
        wait_until(code, || trouble().to_string(), || trouble()["code"] == code);
        let words = trouble()["words"].as_str().unwrap().to_owned();
        let page = show(&[]);
        assert!(page.contains(&words), "{page}");
    }

    /// Returns the source address of a datagram from a mobile host to the fixed host, after its echo.
    pub(crate) fn echo(&self, mobile: usize) -> std::net::IpAddr {
        let server = self
            .fixed
            .run(|| UdpSocket::bind((FIXED, 7)).unwrap())
            .unwrap();
        let open = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let client = self.mobiles[mobile].run(open).unwrap();
        for socket in [&server, &client] {
            socket.set_read_timeout(Some(LONG)).unwrap();
        }
        client.send_to(b"echo", (FIXED, 7)).unwrap();
        let mut bytes = [0; 16];
        let (length, from) = server.recv_from(&mut bytes).unwrap();
        server.send_to(&bytes[..length], from).unwrap();
        assert_eq!(client.recv(&mut bytes).unwrap(), 4);
        client.local_addr().map(|_| from.ip()).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.run("gateway", &["gateway", "down"]);
        for mobile in ["mobile0", "mobile1"] {
            self.run(mobile, &["leave"]);
        }
    }
}

/// Returns the join line in the output of a command.
pub(crate) fn line_of(output: &str) -> String {
    let line = output.trim().strip_prefix("lasthop join ");
    line.expect("a join line").to_owned()
}

/// Returns the lines of `ip -brief address` without the column of the links' states.
fn without_state(links: &str) -> String {
    let link = |line: &str| {
        let mut words: Vec<_> = line.split_whitespace().collect();
        words.remove(1);
        words.join(" ") + "\n"
    };
    links.lines().map(link).collect()
}

/// Returns all that daemons change in a host: links, addresses, routes, rules, and rules of the firewall.
fn system(host: &Namespace) -> String {
    let commands: [&[&str]; 5] = [
        &["ip", "-brief", "address"],
        &["ip", "route", "show", "table", "all"],
        &["ip", "rule"],
        &["ip", "-6", "rule"],
        &["nft", "list", "ruleset"],
    ];
    let run = |words: &[&str]| {
        let output = host.run(|| Command::new(words[0]).args(&words[1..]).output().unwrap());
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let mut all = commands.map(run);
    // Whether a link is up shows some time after the change that caused it.
    all[0] = without_state(&all[0]);
    let all = all.concat();
    // The kernel adds link-local addresses when it has examined them.
    let is_settled = |line: &&str| !line.contains("ff00::") && *line != "local";
    let words = |line: &str| {
        line.split(" fe80::")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let lines = all.lines().map(words).filter(|line| is_settled(&&**line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn two_commands_make_a_hop_and_two_take_it_back() {
    if !able() {
        return;
    }
    let site = Site::create();
    let (before, mobile_before) = (system(&site.gateway), system(&site.mobiles[0]));
    let line = site.up();
    site.done("mobile0", &["join", &line]);
    // NAT: the fixed host sees the gateway.
    assert_eq!(site.echo(0), Ipv4Addr::new(198, 51, 100, 1));
    site.wait_for_state("mobile1", "connected");
    // A second `up` changes nothing, and a second line is for another host.
    let again = site.run("gateway", &["gateway", "up"]);
    assert_eq!((again.code, &*again.stdout), (Some(0), ""));
    assert!(again.stderr.contains("runs already"), "{}", again.stderr);
    site.done("mobile1", &["join", &site.invite("cam1")]);
    assert_eq!(site.echo(1), Ipv4Addr::new(198, 51, 100, 1));
    // The gateway ends and comes back, and knows its mobile hosts.
    site.done("gateway", &["gateway", "down"]);
    assert_eq!(system(&site.gateway), before);
    assert!(site.state_of("cam1").starts_with("joined"));
    site.done("gateway", &["gateway", "up"]);
    site.wait_for_state("cam1", "connected");
    site.wait_for_state("mobile1", "connected");
    site.echo(0);
    // A mobile host pauses, goes on without a line, and leaves.
    site.done("mobile0", &["leave", "--keep"]);
    assert_eq!(system(&site.mobiles[0]), mobile_before);
    site.done("mobile0", &["join"]);
    site.echo(0);
    site.done("mobile0", &["leave"]);
    assert_eq!(system(&site.mobiles[0]), mobile_before);
    assert!(
        site.refused("mobile0", 2, &["join"])
            .contains("has not joined yet")
    );
}

#[test]
fn a_line_is_used_once_and_a_host_can_be_revoked() {
    if !able() {
        return;
    }
    let site = Site::create();
    let line = site.up();
    site.done("mobile0", &["join", &line]);
    let used = site.refused("mobile1", 2, &["join", &line]);
    assert!(
        used.contains("the join line was used by another host"),
        "{used}"
    );
    // It joins anew under its name: the former key works until then, and not afterwards.
    let next = site.invite("mobile1");
    assert_eq!(site.echo(0), Ipv4Addr::new(198, 51, 100, 1));
    site.done("mobile1", &["join", &next]);
    site.echo(1);
    site.done("gateway", &["rename", "mobile1", "tablet7"]);
    site.wait_for_state("tablet7", "connected");
    site.echo(1);
    site.done("gateway", &["revoke", "tablet7"]);
    site.wait_for_trouble("mobile1", "revoked");
    assert_eq!(site.state_of("tablet7"), "none");
    let unknown = site.refused("gateway", 2, &["revoke", "tablet7"]);
    assert!(
        unknown.contains("there is no mobile host 'tablet7'"),
        "{unknown}"
    );
    site.wait_for_trouble("mobile0", "replaced");
    let log = fs::read_to_string(site.state("mobile1/mobile/mobile.log")).unwrap();
    assert_eq!(log.matches("trouble (revoked)").count(), 1, "{log}");
    // The gateway remembers it after a restart too.
    site.done("mobile1", &["leave", "--keep"]);
    site.done("gateway", &["gateway", "down"]);
    site.done("gateway", &["gateway", "up"]);
    let revoked = site.refused("mobile1", 1, &["join"]);
    assert!(revoked.contains("has revoked this host's key"), "{revoked}");
    // An open line is worth nothing after a revocation either.
    let line = site.invite("cam1");
    site.done("gateway", &["revoke", "cam1"]);
    site.done("mobile1", &["leave"]);
    let revoked = site.refused("mobile1", 2, &["join", &line]);
    assert!(revoked.contains("has revoked this host's key"), "{revoked}");
}

#[test]
fn what_cannot_join_is_told_why() {
    if !able() {
        return;
    }
    let site = Site::create();
    let none = site.refused("gateway", 2, &["invite", "--name", "cam1"]);
    assert!(
        none.contains("make it one with `lasthop gateway up`"),
        "{none}"
    );
    let line = site.up();
    let mut mistyped = line.clone();
    mistyped.replace_range(40..41, if &line[40..41] == "0" { "1" } else { "0" });
    for wrong in [&mistyped, &line[..line.len() - 4]] {
        let text = site.refused("mobile0", 2, &["join", wrong]);
        assert!(text.contains("mistyped or cut short"), "{text}");
    }
    let key = site.refused("mobile0", 2, &["join", "lasthop-sk1-secret"]);
    assert!(
        key.contains("not a join line") && !key.contains("secret"),
        "{key}"
    );
    let expired = line_of(&site.done("gateway", &["invite", "--name", "late", "--expires", "1s"]));
    wait_until("the line expires", String::new, || {
        site.state_of("late") == "invitation expired"
    });
    let text = site.refused("mobile0", 2, &["join", &expired]);
    assert!(text.contains("has expired"), "{text}");
    // The gateway is off: its host refuses.
    site.done("gateway", &["gateway", "down"]);
    let text = site.refused("mobile0", 1, &["join", "--timeout", "2", &line]);
    assert!(text.contains("no gateway runs at this port"), "{text}");
    // A network of the mobile host has the inner addresses.
    let config = fs::read_to_string(site.state("gateway/gateway/gateway.toml")).unwrap();
    let address = config
        .split("addresses = [\"")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    rig::route(&site.mobiles[1], &format!("{address}/32"), "10.1.2.1").unwrap();
    rig::route(
        &site.mobiles[1],
        &format!("{}/20", address.replace(".1", ".0")),
        "10.1.2.1",
    )
    .ok();
    site.done("gateway", &["gateway", "up"]);
    site.done("mobile0", &["join", &line]);
    let again = site.refused("mobile0", 2, &["join", &line]);
    assert!(again.contains("has joined a gateway already"), "{again}");
}

#[test]
fn a_taken_port_and_missing_rights_are_named() {
    if !able() {
        return;
    }
    let site = Site::create();
    let open = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 51_830)).unwrap();
    let taken = site.gateway.run(open).unwrap();
    let text = site.refused("gateway", 2, &["gateway", "up"]);
    assert!(text.contains("51830") && text.contains("in use"), "{text}");
    drop(taken);
    site.done("gateway", &["gateway", "up"]);
    let output = Command::new("setpriv")
        .args([
            "--reuid",
            "65534",
            "--clear-groups",
            PROGRAM,
            "gateway",
            "up",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("needs root"), "{text}");
}

/// What a killed daemon and its killed helper have left.
#[test]
fn clean_takes_back_what_the_dead_have_left() {
    if !able() {
        return;
    }
    let site = Site::create();
    let before = system(&site.mobiles[0]);
    let line = site.up();
    site.done("mobile0", &["join", &line]);
    let log = || system(&site.mobiles[0]);
    for id in processes_in(&site.state("mobile0")) {
        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    }
    let run = site.state("mobile0/run");
    let clean = || {
        let mut command = Command::new(PROGRAM);
        command.args(["clean", "--state-dir"]).arg(&run);
        let output = site.mobiles[0].run(|| command.output().unwrap()).unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    wait_until("the dead are gone", log, || {
        clean();
        system(&site.mobiles[0]) == before
    });
    assert!(clean().contains("Nothing was left"));
}

/// Returns the processes of `lasthop` whose configuration is in this folder, and those that they have started.
fn processes_in(folder: &Path) -> Vec<rustix::process::Pid> {
    let folder = folder.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let numbers: Vec<_> = numbers.collect();
    let text =
        |id: i32, file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
    let is_daemon = |id: &i32| {
        let line = text(*id, "cmdline");
        line.contains("--detached") && line.contains(folder)
    };
    let daemons: Vec<_> = numbers.iter().copied().filter(is_daemon).collect();
    let is_child = |id: &i32| {
        let parent = text(*id, "status");
        let parent = parent.lines().find_map(|line| line.strip_prefix("PPid:"));
        parent.is_some_and(|parent| daemons.iter().any(|id| parent.trim() == id.to_string()))
    };
    let children = numbers.iter().copied().filter(is_child);
    let all = daemons.iter().copied().chain(children);
    all.filter_map(rustix::process::Pid::from_raw).collect()
}
