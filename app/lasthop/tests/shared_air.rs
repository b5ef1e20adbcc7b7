//! One gateway and four mobile hosts on one emulated air that fades, each in a network namespace.
//!
//! It needs root (or a user namespace of one's own) and `nft`; where they are missing it says so and
//! is skipped, but under CI=true it fails.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use edges::sysctl;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{PROGRAM, able};
use tempfile::TempDir;

const MOBILES: usize = 4;
const LINK: &str = "medium = \"half-duplex\"\n[each]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n\
    [errors]\nmodel = \"temporal\"\ngood = { distribution = \"exponential\", mean = \"400 ms\" }\n\
    bad = { distribution = \"exponential\", mean = \"80 ms\" }\n";
/// So much each mobile host fetches, in bytes.
const SIZE: usize = 1_500_000;
/// So long a test waits for what must come; it decides nothing but how long a failure takes.
const LONG: Duration = Duration::from_mins(1);

/// A process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn terminate(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

/// Host 0 is the gateway, the others are mobile hosts.
struct Cell {
    hosts: Vec<Namespace>,
    folder: TempDir,
    emulator: Running,
}

impl Cell {
    /// Hosts with their devices on the air, and their configurations.
    fn create() -> Self {
        let hosts: Vec<_> = (0..=MOBILES)
            .map(|_| Namespace::create().unwrap())
            .collect();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("link.toml"), LINK).unwrap();
        let radio = Namespace::create().unwrap();
        let mut emulator = Command::new(PROGRAM);
        emulator.current_dir(folder.path());
        emulator.args(["emulate", "--link", "./link.toml", "--json", "report.json"]);
        for host in 0..=MOBILES {
            let side = if host == 0 { "--left" } else { "--right" };
            emulator.args([side, &format!("air{host},{}/24", outer(host))]);
        }
        let emulator = Running(radio.spawn(emulator).unwrap());
        let cell = Self {
            hosts,
            folder,
            emulator,
        };
        cell.wait_until("the air stands", || cell.path("report.json").exists());
        for (host, namespace) in cell.hosts.iter().enumerate() {
            let name = format!("air{host}");
            let away = || Netlink::open().unwrap().move_link(&name, namespace);
            radio.run(away).unwrap().unwrap();
            namespace.run(|| set_up(&name, &outer(host))).unwrap();
        }
        cell.configure();
        cell
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self) {
        let keys: Vec<_> = (0..=MOBILES).map(|host| self.key(host)).collect();
        let common = |host: usize| {
            format!("private_key_file = \"{host}.key\"\nstate_dir = \"state{host}\"\n")
        };
        let mut gateway = format!(
            "{}nat = false\n[tun]\naddresses = [\"{}/24\"]\n[air]\nshared = true\n",
            common(0),
            inner(0)
        );
        for (host, public) in keys.iter().enumerate().skip(1) {
            writeln!(
                gateway,
                "[[peers]]\nname = \"tablet{host}\"\npublic_key = \"{public}\"\naddresses = [\"{}\"]",
                inner(host)
            )
            .unwrap();
            let mobile = format!(
                "{}routes = [\"192.0.2.0/24\"]\n[gateway]\nendpoint = \"{}:51830\"\npublic_key = \"{}\"\n\
                 [tun]\naddresses = [\"{}/24\"]\n",
                common(host),
                outer(0),
                keys[0],
                inner(host)
            );
            fs::write(self.path(&format!("{host}.toml")), mobile).unwrap();
        }
        fs::write(self.path("0.toml"), gateway).unwrap();
    }

    fn key(&self, host: usize) -> String {
        let output = lasthop(self.folder.path(), &["keygen", &format!("{host}.key")]);
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    /// Starts the daemon of that host.
    fn start(&self, host: usize) -> Running {
        let part = if host == 0 { "gateway" } else { "mobile" };
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path());
        command.args([part, "--config", &format!("{host}.toml")]);
        let log = fs::File::create(self.path(&format!("{host}.log"))).unwrap();
        command.stdin(Stdio::null()).stderr(log);
        Running(self.hosts[host].spawn(command).unwrap())
    }

    /// What the gateway says of itself.
    fn status(&self, more: &[&str]) -> String {
        let words = ["status", "--name", "gateway", "--state-dir", "state0"];
        let output = lasthop(self.folder.path(), &[&words, more].concat());
        String::from_utf8(output.stdout).unwrap()
    }

    fn peers(&self) -> Vec<Value> {
        let status: Value = serde_json::from_str(&self.status(&["--json"])).unwrap_or_default();
        let peers = status["host"]["peers"].as_array();
        peers.cloned().unwrap_or_default()
    }

    fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let begun = Instant::now();
        while !condition() {
            let waited = begun.elapsed();
            assert!(waited < LONG, "never: {what}\n{}", self.logs());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn logs(&self) -> String {
        let read = |host: usize| fs::read_to_string(self.path(&format!("{host}.log")));
        (0..=MOBILES).map(read).filter_map(Result::ok).collect()
    }

    /// Lets a mobile host fetch from the gateway by TCP, and checks each byte.
    fn fetch(&self, mobile: usize) {
        let content: Vec<u8> = (0..SIZE)
            .map(|place| (place ^ place >> 9 ^ mobile) as u8)
            .collect();
        let listen = || TcpListener::bind((inner(0), 0)).unwrap();
        let listener = self.hosts[0].run(listen).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, LONG).unwrap();
        let mut stream = self.hosts[mobile].run(connect).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_write_timeout(Some(LONG)).unwrap();
                stream.write_all(&content).unwrap();
            });
            let mut received = Vec::with_capacity(SIZE);
            stream.read_to_end(&mut received).unwrap();
            assert!(
                received == content,
                "{} of {SIZE} bytes, or wrong ones",
                received.len()
            );
        });
    }

    /// Ends the emulator; gives its last report.
    fn end(self) -> Value {
        self.emulator.terminate();
        let report = fs::read_to_string(self.folder.path().join("report.json"));
        serde_json::from_str(&report.unwrap()).unwrap()
    }
}

fn outer(host: usize) -> String {
    format!("10.1.0.{}", host + 1)
}

fn inner(host: usize) -> String {
    format!("10.73.0.{}", host + 1)
}

fn lasthop(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

/// A device that came from elsewhere has lost its addresses.
fn set_up(name: &str, address: &str) {
    // A kernel without IPv6 has none to keep out.
    let _ = sysctl::set(&format!("net/ipv6/conf/{name}/disable_ipv6"), "1");
    let mut netlink = Netlink::open().unwrap();
    let address = format!("{address}/24").parse().unwrap();
    netlink.add_address(name, address).unwrap();
    netlink.set_up(name).unwrap();
}

#[test]
fn mobile_hosts_on_one_air_get_all_of_theirs() {
    if !able() {
        return;
    }
    let cell = Cell::create();
    let daemons: Vec<_> = (0..=MOBILES).map(|host| cell.start(host)).collect();
    cell.wait_until("all are connected", || {
        let peers = cell.peers();
        peers.len() == MOBILES && peers.iter().all(|peer| !peer["keys_age"].is_null())
    });
    thread::scope(|scope| {
        for mobile in 1..=MOBILES {
            let cell = &cell;
            scope.spawn(move || cell.fetch(mobile));
        }
    });
    for peer in cell.peers() {
        let served = peer["air"]["served"].as_u64().unwrap();
        assert!(served > 0, "{} was never served", peer["name"]);
        let wire = peer["hop"]["stats"]["sent"]["wire_bytes"].as_u64();
        assert!(wire.unwrap() > SIZE as u64);
    }
    let page = cell.status(&[]);
    assert_eq!(page.matches("\n  turns").count(), MOBILES, "{page}");
    for daemon in daemons {
        daemon.terminate();
    }
    let report = cell.end();
    assert_eq!(report["unroutable_packets"], 0);
    let mobiles = report["mobiles"].as_array().unwrap();
    assert_eq!(mobiles.len(), MOBILES);
    for mobile in mobiles {
        let down = &mobile["down"];
        assert!(down["delivered"]["bytes"].as_u64().unwrap() > SIZE as u64);
        assert!(
            down["dropped_air"]["packets"].as_u64().unwrap() > 0,
            "{mobile}"
        );
        assert!(down["good_share"].as_f64().unwrap() < 1.0);
        assert!(mobile["airtime_down_ms"].as_f64().unwrap() > 0.0);
    }
}
