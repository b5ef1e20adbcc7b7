//! One gateway and four mobile hosts on one emulated air that fades, each in a network namespace.

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
use tempfile::TempDir;
use units::Bytes;

use super::PROGRAM;
use super::turn::Turn;

pub(crate) const MOBILES: usize = 4;
const LINK: &str = "medium = \"half-duplex\"\n[each]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n\
    [errors]\nmodel = \"temporal\"\ngood = { distribution = \"exponential\", mean = \"400 ms\" }\n\
    bad = { distribution = \"exponential\", mean = \"80 ms\" }\n";
/// So much each mobile host fetches, in bytes.
pub(crate) const SIZE: usize = 1_500_000;
/// So long a test waits for what must come; it decides nothing but how long a failure takes.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A process that is killed when dropped.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// The most memory that it has taken so far (`VmHWM` in proc(5)).
    pub(crate) fn peak(&self) -> Bytes {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let size = line.unwrap().split_whitespace().nth(1).unwrap();
        Bytes::kibi(size.parse().unwrap())
    }

    pub(crate) fn terminate(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

/// Host 0 is the gateway, the others are mobile hosts.
pub(crate) struct Cell {
    pub(crate) hosts: Vec<Namespace>,
    folder: TempDir,
    emulator: Running,
    _turn: Turn,
}

impl Cell {
    /// Hosts with their devices on the air, and their configurations; that of the gateway has `more`.
    pub(crate) fn create(more: &str) -> Self {
        let turn = Turn::take();
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
            _turn: turn,
        };
        cell.wait_until("the air stands", || cell.path("report.json").exists());
        for (host, namespace) in cell.hosts.iter().enumerate() {
            let name = format!("air{host}");
            let away = || Netlink::open().unwrap().move_link(&name, namespace);
            radio.run(away).unwrap().unwrap();
            namespace.run(|| set_up(&name, &outer(host))).unwrap();
        }
        cell.configure(more);
        cell
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, more: &str) {
        let keys: Vec<_> = (0..=MOBILES).map(|host| self.key(host)).collect();
        let common = |host: usize| {
            format!("private_key_file = \"{host}.key\"\nstate_dir = \"state{host}\"\n")
        };
        let mut gateway = format!(
            "{}nat = false\n[tun]\naddresses = [\"{}/24\"]\n[air]\nshared = true\n{more}",
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

    /// The public key of that host.
    pub(crate) fn public_key(&self, host: usize) -> String {
        let output = lasthop(
            self.folder.path(),
            &["keygen", "--public", &format!("{host}.key")],
        );
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    /// Starts the daemon of that host.
    pub(crate) fn start(&self, host: usize) -> Running {
        let part = if host == 0 { "gateway" } else { "mobile" };
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path());
        command.args([part, "--config", &format!("{host}.toml")]);
        let log = fs::File::create(self.path(&format!("{host}.log"))).unwrap();
        command.stdin(Stdio::null()).stderr(log);
        Running(self.hosts[host].spawn(command).unwrap())
    }

    /// What the gateway says of itself.
    pub(crate) fn status(&self, more: &[&str]) -> String {
        let words = ["status", "--name", "gateway", "--state-dir", "state0"];
        let output = lasthop(self.folder.path(), &[&words, more].concat());
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn peers(&self) -> Vec<Value> {
        let status: Value = serde_json::from_str(&self.status(&["--json"])).unwrap_or_default();
        let peers = status["host"]["peers"].as_array();
        peers.cloned().unwrap_or_default()
    }

    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let begun = Instant::now();
        while !condition() {
            let waited = begun.elapsed();
            assert!(waited < LONG, "never: {what}\n{}", self.logs());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the daemon of that host has logged.
    pub(crate) fn log(&self, host: usize) -> String {
        fs::read_to_string(self.path(&format!("{host}.log"))).unwrap_or_default()
    }

    fn logs(&self) -> String {
        (0..=MOBILES).map(|host| self.log(host)).collect()
    }

    /// Lets a mobile host fetch from the gateway by TCP, and checks each byte.
    pub(crate) fn fetch(&self, mobile: usize) {
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
    pub(crate) fn end(self) -> Value {
        self.emulator.terminate();
        let report = fs::read_to_string(self.folder.path().join("report.json"));
        serde_json::from_str(&report.unwrap()).unwrap()
    }
}

pub(crate) fn outer(host: usize) -> String {
    format!("10.1.0.{}", host + 1)
}

pub(crate) fn inner(host: usize) -> String {
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
