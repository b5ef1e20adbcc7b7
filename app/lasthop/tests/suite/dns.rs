//! Names of a mobile host are asked across the hop while it is up, by real programs, and as before afterwards.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use edges::namespace::Namespace;
use hosts::Resolvers;
use rig::Process;
use runtime::resolver::{ResolverCharge, ResolverHelper};
use wire::dns::{AddressKind, question};

use crate::support::{Daemon, Hosts, LONG, PROGRAM, able};

/// The DNS servers of the wired side and of the mobile host's local network, and what each says of every name.
const WIRED: &str = "198.51.100.2:53";
const LOCAL: &str = "10.1.0.1:53";
const BY_WIRED: [u8; 4] = [203, 0, 113, 9];
const BY_LOCAL: [u8; 4] = [192, 0, 2, 66];
const BEFORE: &str = "# by hand\nnameserver 10.1.0.1\noptions timeout:5\n";
const RESOLVER: &str = "10.73.0.1";

/// A DNS server that knows one address for every name, and counts the questions.
struct Server(Arc<AtomicUsize>);

impl Server {
    fn start(host: &Namespace, at: &str, address: [u8; 4]) -> Self {
        let at: SocketAddr = at.parse().unwrap();
        let bind = || (UdpSocket::bind(at).unwrap(), TcpListener::bind(at).unwrap());
        let (datagrams, connections) = host.run(bind).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        // Both threads end with this process.
        thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((length, from)) = datagrams.recv_from(&mut bytes) {
                counter.fetch_add(1, Ordering::Relaxed);
                let _ = datagrams.send_to(&answer(&bytes[..length], address), from);
            }
        });
        thread::spawn(move || {
            for connection in connections.incoming() {
                let mut connection = connection.unwrap();
                let mut length = [0; 2];
                connection.read_exact(&mut length).unwrap();
                let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
                connection.read_exact(&mut question).unwrap();
                let answer = answer(&question, address);
                let length = (answer.len() as u16).to_be_bytes();
                let _ = connection.write_all(&[&length, &answer[..]].concat());
            }
        });
        Self(count)
    }

    fn asked(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the answer to a question, without the records after it: one address if it asks for IPv4, otherwise none.
fn answer(question: &[u8], address: [u8; 4]) -> Vec<u8> {
    let Some(name) = question
        .get(12..)
        .and_then(|rest| rest.iter().position(|byte| *byte == 0))
    else {
        return Vec::new();
    };
    let mut answer = question[..question.len().min(12 + name + 5)].to_vec();
    answer[2] |= 0x80;
    answer[8..12].fill(0);
    if answer.ends_with(&[0, 1, 0, 1]) {
        answer[7] = 1;
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(address);
    }
    answer
}

/// How the mobile host has its `/etc/resolv.conf`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Files {
    /// A file of this network's own over that of the host, as with `ip netns exec`.
    Mounted,
    /// A plain file.
    Plain,
}

/// A mobile host with files of its own.
pub(crate) struct Mobile<'a> {
    hosts: &'a Hosts,
    /// It keeps the files.
    keeper: Process,
}

impl<'a> Mobile<'a> {
    pub(crate) fn with(hosts: &'a Hosts, files: Files) -> Self {
        let etc = hosts.folder.path().join("etc");
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("nsswitch.conf"), "hosts: files dns\n").unwrap();
        fs::write(etc.join("hosts"), "127.0.0.1 localhost\n").unwrap();
        fs::write(etc.join("resolv.conf"), BEFORE).unwrap();
        let mount = match files {
            Files::Mounted => format!(
                "mount --bind {0}/resolv.conf /etc/resolv.conf && mount --bind {0}/nsswitch.conf /etc/nsswitch.conf",
                etc.display()
            ),
            Files::Plain => format!("mount --bind {} /etc", etc.display()),
        };
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]);
        command.arg(format!("{mount} && echo ready >&2 && exec sleep 600"));
        let folder = hosts.folder.path();
        let keeper = Process::start(command, "files", folder, Some(&hosts.mobile)).unwrap();
        hosts.wait_until("the files are there", || {
            hosts.log("files").contains("ready")
        });
        Self { hosts, keeper }
    }

    /// Returns a command that sees network and files of the mobile host.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let target = self.keeper.id().to_string();
        command.args(["--target", &target, "--mount", "--net", program]);
        command
    }

    pub(crate) fn start(&self) -> Daemon {
        let mut command = self.command(PROGRAM);
        let folder = self.hosts.folder.path();
        command
            .args(["mobile", "--config"])
            .arg(folder.join("mobile.toml"));
        Daemon(Process::start(command, "mobile", folder, None).unwrap())
    }

    /// Returns the text of its `/etc/resolv.conf`.
    fn text(&self) -> String {
        let path = format!("/proc/{}/root/etc/resolv.conf", self.keeper.id());
        fs::read_to_string(path).unwrap()
    }

    fn is_as_before(&self) -> bool {
        self.text() == BEFORE
    }

    fn asks_across(&self) -> bool {
        self.text().contains(&format!("\nnameserver {RESOLVER}\n"))
    }

    /// Returns the address of a name, by the C library's resolver.
    fn look_up(&self, name: &str) -> IpAddr {
        let mut getent = self.command("getent");
        let found = getent.args(["ahostsv4", name]).output().unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        let address = found.split_whitespace().next();
        let address = address.unwrap_or_else(|| panic!("{name}: not found\n{}", self.hosts.logs()));
        address.parse().unwrap()
    }

    fn clean(&self) {
        let mut clean = self.command(PROGRAM);
        clean.args(["clean", "--state-dir"]);
        let cleaned = clean.arg(self.hosts.folder.path().join("state")).output();
        let cleaned = cleaned.unwrap();
        assert!(cleaned.status.success(), "{cleaned:?}");
    }
}

/// Asks the resolver of the hop by TCP.
fn ask_by_tcp(hosts: &Hosts) -> Vec<u8> {
    let at = SocketAddr::new(RESOLVER.parse().unwrap(), 53);
    let connected = hosts.mobile.run(|| TcpStream::connect_timeout(&at, LONG));
    let mut connection = connected.unwrap().unwrap();
    connection.set_read_timeout(Some(LONG)).unwrap();
    let question = question(7, "tcp.example", AddressKind::V4).unwrap();
    let length = (question.len() as u16).to_be_bytes();
    connection
        .write_all(&[&length, &question[..]].concat())
        .unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn names_are_asked_across_the_hop_and_as_before_while_it_is_down() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    hosts.configure_more(
        "gateway",
        "[tun]",
        "dns = [\"198.51.100.2\"]\nnetworks = [\"203.0.113.0/24\"]",
    );
    let (wired, local) = (
        Server::start(&hosts.fixed, WIRED, BY_WIRED),
        Server::start(&hosts.gateway, LOCAL, BY_LOCAL),
    );
    let mobile = Mobile::with(&hosts, Files::Mounted);
    assert_eq!(mobile.look_up("one.example"), IpAddr::from(BY_LOCAL));
    let asked = local.asked();
    let gateway = hosts.start("gateway");
    let daemon = mobile.start();
    hosts.wait_until("names cross the hop", || mobile.asks_across());
    // The gateway's rules forward nothing else to that host.
    assert_eq!(mobile.look_up("two.example"), IpAddr::from(BY_WIRED));
    assert!(ask_by_tcp(&hosts).ends_with(&BY_WIRED));
    assert_eq!(local.asked(), asked);
    assert!(wired.asked() > 0);
    let names = |hosts: &Hosts| hosts.status("mobile")["names"].clone();
    hosts.wait_until("the status has it", || names(&hosts)["way"] == "file");
    assert_eq!(names(&hosts)["servers"][0], RESOLVER);
    assert_eq!(names(&hosts)["beside"].as_array().map(Vec::len), Some(0));
    // New flows go around the hop: the local network's server is the one to ask.
    assert!(gateway.terminate().success());
    hosts.wait_until("names go around the hop", || mobile.is_as_before());
    assert_eq!(mobile.look_up("three.example"), IpAddr::from(BY_LOCAL));
    let gateway = hosts.start("gateway");
    hosts.wait_until("names cross the hop again", || mobile.asks_across());
    assert_eq!(mobile.look_up("four.example"), IpAddr::from(BY_WIRED));
    assert!(daemon.terminate().success(), "{}", hosts.logs());
    assert!(mobile.is_as_before(), "{}", mobile.text());
    assert!(gateway.terminate().success());
    assert_eq!(hosts.traces(), before);
}

#[test]
fn with_a_block_the_resolver_stays_until_the_block_is_lifted() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    hosts.configure_more("gateway", "[tun]", "dns = [\"198.51.100.2\"]");
    hosts.configure_more("gateway", "addresses = [\"10.73.0.2\"", "tcp = \"split\"");
    hosts.configure_more("mobile", "[gateway]", "fallback = \"block\"");
    let _wired = Server::start(&hosts.fixed, WIRED, BY_WIRED);
    let local = Server::start(&hosts.gateway, LOCAL, BY_LOCAL);
    let mobile = Mobile::with(&hosts, Files::Plain);
    let _gateway = hosts.start("gateway");
    let daemon = mobile.start();
    hosts.wait_until("names cross the hop", || mobile.asks_across());
    let words = "(by a file over /etc/resolv.conf)";
    hosts.wait_until("the log has the way", || {
        hosts.log("mobile").contains(words)
    });
    assert_eq!(mobile.look_up("one.example"), IpAddr::from(BY_WIRED));
    // The connection ends at the gateway, which asks by one of its own.
    assert!(ask_by_tcp(&hosts).ends_with(&BY_WIRED));
    assert!(daemon.terminate().success(), "{}", hosts.logs());
    assert!(mobile.asks_across());
    assert_eq!(local.asked(), 0);
    mobile.clean();
    assert!(mobile.is_as_before());
    // A crash of all its processes leaves it, too; the next start takes it back, as it has other settings.
    let daemon = mobile.start();
    hosts.wait_until("names cross the hop", || mobile.asks_across());
    daemon.kill();
    assert!(mobile.asks_across());
    let file = hosts.folder.path().join("mobile.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("fallback = \"block\"", "dns = \"none\""),
    )
    .unwrap();
    let daemon = mobile.start();
    let words = "names are asked at 10.1.0.1, beside the hop";
    hosts.wait_until("the log says so", || hosts.log("mobile").contains(words));
    assert!(mobile.is_as_before());
    hosts.wait_until("so does the status", || {
        hosts.status_page(&["--name", "mobile"]).1.contains(words)
    });
    assert!(daemon.terminate().success());
    assert!(mobile.is_as_before());
}

/// Without files of its own a network namespace leaves those of the host alone.
#[test]
fn the_resolver_of_another_network_is_left_alone() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = fs::read("/etc/resolv.conf").ok();
    hosts.configure_more("gateway", "[tun]", "dns = [\"198.51.100.2\"]");
    let daemons = hosts.start_both();
    let words = "/etc/resolv.conf may be that of another network namespace";
    hosts.wait_until("the log says so", || hosts.log("mobile").contains(words));
    assert_eq!(fs::read("/etc/resolv.conf").ok(), before);
    for daemon in daemons {
        assert!(daemon.terminate().success());
    }
}

/// `resolvectl` writes down what it is told: systemd-resolved runs only where systemd does.
#[test]
fn systemds_resolver_is_told_first_and_only_if_programs_ask_it() {
    if !able() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    fs::write(
        path("resolvectl"),
        format!("#!/bin/sh\necho \"$@\" >> {}\n", path("told").display()),
    )
    .unwrap();
    fs::set_permissions(path("resolvectl"), PermissionsExt::from_mode(0o755)).unwrap();
    let start = |server: &str| {
        fs::write(path("resolv.conf"), format!("nameserver {server}\n")).unwrap();
        let mut command = Command::new("unshare");
        let search = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{search}", folder.path().display()));
        let mount = format!(
            "mount --bind {} /etc/resolv.conf",
            path("resolv.conf").display()
        );
        // The shell is the first process there, with all rights, in its network.
        let apart = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
        command.args(apart).args(["sh", "-c"]);
        command.arg(format!("{mount} && {PROGRAM} resolver-helper; exit $?"));
        let charge = ResolverCharge {
            folder: folder.path().into(),
            instance: "mobile".into(),
            link: "lasthop0".into(),
            keeps: false,
        };
        ResolverHelper::start(command, &charge).unwrap().0
    };
    let offer =
        Resolvers::new(vec![RESOLVER.parse().unwrap()], vec!["example.org".into()]).unwrap();
    let told = || fs::read_to_string(path("told")).unwrap_or_default();
    let mut helper = start("127.0.0.53");
    let report = helper.set(&offer).unwrap();
    assert_eq!(
        report.way.map(|way| way.to_string()).as_deref(),
        Some("systemd-resolved")
    );
    helper.end().unwrap();
    assert_eq!(
        told().lines().collect::<Vec<_>>(),
        [
            "dns lasthop0 10.73.0.1",
            "domain lasthop0 ~. example.org",
            "default-route lasthop0 yes",
            "revert lasthop0"
        ]
    );
    assert!(!has_record(folder.path()));
    fs::remove_file(path("told")).unwrap();
    let mut helper = start("192.0.2.1");
    helper.set(&offer).unwrap();
    let text = fs::read_to_string(path("resolv.conf")).unwrap();
    assert!(
        text.contains("\nnameserver 10.73.0.1\nsearch example.org\n"),
        "{text}"
    );
    assert!(has_record(folder.path()));
    helper.take_back().unwrap();
    let text = fs::read_to_string(path("resolv.conf")).unwrap();
    assert_eq!(
        (text.as_str(), told().as_str()),
        ("nameserver 192.0.2.1\n", "")
    );
    helper.end().unwrap();
}

fn has_record(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).unwrap();
    entries.any(|entry| {
        entry
            .unwrap()
            .path()
            .extension()
            .is_some_and(|ending| ending == "resolver")
    })
}
