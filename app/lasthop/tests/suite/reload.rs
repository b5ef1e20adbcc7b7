//! A gateway whose mobile hosts change while it runs.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use rig::End;
use rig::daemons::Daemons;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::turn::Turn;
use crate::support::{Daemon, LONG, PROGRAM, able, carry, connect, wait_until};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);
/// Bytes that the first mobile host fetches while the other one changes, again and again.
const SIZE: usize = 4 << 20;
/// Datagrams that show if a mobile host reaches the gateway.
const REQUESTS: usize = 40;

/// A gateway and two mobile hosts, each on a cable of its own.
struct Site {
    hosts: Vec<Namespace>,
    folder: TempDir,
    /// The gateway's configuration without its second mobile host, and the section of that one.
    without: String,
    second: String,
    _turn: Turn,
}

fn daemons(folder: &Path) -> Daemons<'_> {
    Daemons {
        mobiles: 2,
        endpoint: Some("10.1.1.1:51830"),
        peer: "tcp = \"split\"\n",
        ..Daemons::new(Path::new(PROGRAM), folder)
    }
}

impl Site {
    fn create() -> Self {
        let turn = Turn::take();
        let folder = tempfile::tempdir().unwrap();
        let hosts: Vec<_> = (0..3).map(|_| Namespace::create().unwrap()).collect();
        for mobile in [1, 2] {
            let name = format!("air{mobile}");
            let [near, far] = [1, 2].map(|host| format!("10.1.{mobile}.{host}/24"));
            let ends = [
                End::new(&hosts[0], &name, &near),
                End::new(&hosts[mobile], &name, &far),
            ];
            rig::join(ends).unwrap();
        }
        daemons(folder.path()).configure().unwrap();
        let path = |name: &str| folder.path().join(name);
        let text = fs::read_to_string(path("mobile2.toml")).unwrap();
        let text = text.replace("10.1.1.1:", "10.1.2.1:");
        fs::write(
            path("mobile2.toml"),
            text.replace("10.79.0.3/24", "10.88.0.5/24"),
        )
        .unwrap();
        let text = fs::read_to_string(path("gateway.toml")).unwrap();
        // With rules of `nft`, which are adapted too.
        let text = text.replace("nat = false", "nat = true");
        let text = text.replace("\"10.79.0.3\"", "\"10.88.0.5\"");
        let start = text.rfind("[[peers]]").unwrap();
        let (without, second) = text.split_at(start);
        let site = Self {
            hosts,
            without: without.into(),
            second: second.into(),
            folder,
            _turn: turn,
        };
        site.write(&site.without);
        site
    }

    fn write(&self, text: &str) {
        fs::write(self.folder.path().join("gateway.toml"), text).unwrap();
    }

    fn start(&self, host: usize) -> Daemon {
        let started = daemons(self.folder.path()).start(host, &self.hosts[host]);
        Daemon(started.unwrap())
    }

    fn peers(&self) -> Vec<Value> {
        let status = daemons(self.folder.path()).status(0);
        let peers = status["host"]["peers"].as_array();
        peers.cloned().unwrap_or_default()
    }

    fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        wait_until(what, || self.log(), condition);
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("gateway.log")).unwrap_or_default()
    }

    fn lasthop(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.folder.path());
        command.output().unwrap()
    }

    /// Returns the exit code and the words of `lasthop reload`.
    fn reload(&self) -> (Option<i32>, String) {
        let output = self.lasthop(&["reload", "--state-dir", "gateway"]);
        let words = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(words).unwrap())
    }

    fn routes(&self) -> String {
        let list = || Command::new("ip").args(["-4", "route"]).output().unwrap();
        let output = self.hosts[0].run(list).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the rules that lead connections to the splitter.
    fn rules(&self) -> String {
        let table = ["list", "table", "inet", "lasthop_gateway_split"];
        let list = || Command::new("nft").args(table).output().unwrap();
        let output = self.hosts[0].run(list).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn is_connected(&self, name: &str) -> bool {
        let peers = self.peers();
        let peer = peers.iter().find(|peer| peer["name"] == name);
        peer.is_some_and(|peer| !peer["keys_age"].is_null())
    }

    /// Sends a request each 5 ms from the first mobile host to the gateway until `is_over`; returns the longest time to
    /// an answer. All are answered.
    fn ask(&self, is_over: &AtomicBool) -> Duration {
        let open = |address: Ipv4Addr| move || UdpSocket::bind((address, 0)).unwrap();
        let server = self.hosts[0].run(open(GATEWAY)).unwrap();
        let client = self.hosts[1].run(open(Ipv4Addr::UNSPECIFIED)).unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(LONG)).unwrap();
        let mut longest = Duration::ZERO;
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut request = [0; 8];
                while let Ok((8, from)) = server.recv_from(&mut request)
                    && request != [0xff; 8]
                {
                    server.send_to(&request, from).unwrap();
                }
            });
            for number in 1_u64.. {
                let begun = Instant::now();
                client.send(&number.to_be_bytes()).unwrap();
                let mut answer = [0; 8];
                client.recv(&mut answer).unwrap();
                assert_eq!(u64::from_be_bytes(answer), number, "one was lost");
                longest = longest.max(begun.elapsed());
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
            client.send(&[0xff; 8]).unwrap();
        });
        longest
    }

    /// Fetches from the gateway until `is_over`.
    fn fetch(&self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let connected = connect(&self.hosts[1], &self.hosts[0], GATEWAY.into());
            let (client, server) = connected.unwrap();
            carry(server, client, SIZE);
        }
    }

    /// Adds, changes and revokes the second mobile host.
    fn change_second(&self, gateway: &Daemon) {
        let with = self.without.clone() + &self.second;
        self.write(&with);
        gateway.0.signal(Signal::HUP);
        self.wait_until("the second is connected", || self.is_connected("mobile2"));
        assert!(self.routes().contains("10.88.0.5 dev"), "{}", self.routes());
        assert_eq!(self.passed(2), REQUESTS);

        let moved = with.replace("\"10.88.0.5\"", "\"10.88.0.5\", \"10.99.0.0/24\"");
        self.write(&moved);
        let done = (Some(0), "0 peers added, 1 changed, 0 revoked\n".to_owned());
        assert_eq!(self.reload(), done, "{}", self.log());
        let routes = self.routes();
        assert!(
            routes.contains("10.88.0.5 dev") && routes.contains("10.99.0.0/24 dev"),
            "{routes}"
        );
        assert!(self.is_connected("mobile2"), "it need not connect anew");
        let rules = self.rules();
        assert!(
            rules.contains("10.88.0.5") && rules.contains("10.99.0.0/24"),
            "{rules}"
        );

        self.write(&with.replace("name = \"mobile2\"", "name = \"mobile1\""));
        let (code, words) = self.reload();
        assert_eq!(code, Some(2));
        assert!(
            words.contains("another name") && words.contains("^^^^"),
            "{words}"
        );
        self.write(&with.replace("[tun]", "[tun]\nmtu = 1400"));
        let (code, words) = self.reload();
        assert_eq!(code, Some(2));
        assert!(
            words.contains("`tun` cannot change") && words.contains("restart"),
            "{words}"
        );
        assert_eq!(self.routes(), routes, "an error changes nothing");
        assert_eq!(self.peers().len(), 2);

        let (before, second) = with.rsplit_once("split").unwrap();
        self.write(&format!("{before}snoop{second}"));
        assert_eq!(self.reload(), done, "{}", self.log());
        assert!(!self.routes().contains("10.99.0.0"));
        let rules = self.rules();
        let is_left = rules.contains("ip saddr != 10.88.0.5");
        assert!(is_left && !rules.contains("ip daddr 10.88.0.5"), "{rules}");
        self.wait_until("the second has snoop", || {
            let peers = self.peers();
            peers.len() == 2 && !peers[1]["keys_age"].is_null()
        });

        self.write(&self.without);
        gateway.0.signal(Signal::HUP);
        self.wait_until("the second is revoked", || self.peers().len() == 1);
        assert!(!self.routes().contains("10.88.0.5"), "{}", self.routes());
        self.wait_until("the log has it", || self.log().contains("mobile2: revoked"));
    }

    /// Returns the number of datagrams of a mobile host that reach the gateway, of [`REQUESTS`].
    fn passed(&self, host: usize) -> usize {
        let open = |address: Ipv4Addr| move || UdpSocket::bind((address, 0)).unwrap();
        let server = self.hosts[0].run(open(GATEWAY)).unwrap();
        let client = self.hosts[host].run(open(Ipv4Addr::UNSPECIFIED)).unwrap();
        server
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let mut passed = 0;
        for _ in 0..REQUESTS {
            let _ = client.send_to(b"let me in", server.local_addr().unwrap());
            passed += usize::from(server.recv(&mut [0; 16]).is_ok());
        }
        passed
    }
}

#[test]
fn one_is_added_changed_and_revoked_while_the_other_transfers() {
    if !able() {
        return;
    }
    let site = Site::create();
    let [gateway, first, second] = [0, 1, 2].map(|host| site.start(host));
    site.wait_until("the first is connected", || site.is_connected("mobile1"));
    assert_eq!(site.passed(2), 0, "it is a stranger");
    let is_over = AtomicBool::new(false);
    let longest = thread::scope(|scope| {
        let asked = scope.spawn(|| site.ask(&is_over));
        let fetched = scope.spawn(|| site.fetch(&is_over));
        let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            site.change_second(&gateway);
        }));
        is_over.store(true, Ordering::Relaxed);
        fetched.join().unwrap();
        let longest = asked.join().unwrap();
        changed.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        longest
    });
    println!("the longest time to an answer: {longest:?}");
    assert_eq!(site.passed(2), 0, "it was revoked");
    for daemon in [second, first, gateway] {
        assert!(daemon.terminate().success(), "{}", site.log());
    }
    assert!(!site.routes().contains("10.88"));
}

#[test]
fn a_mobile_host_that_is_told_to_reload_goes_on() {
    if !able() {
        return;
    }
    let site = Site::create();
    let [gateway, first] = [0, 1].map(|host| site.start(host));
    site.wait_until("the first is connected", || site.is_connected("mobile1"));
    let reload = || {
        let output = site.lasthop(&["reload", "--state-dir", "mobile1"]);
        let words = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(words).unwrap())
    };
    assert_eq!(reload(), (Some(0), "nothing has changed\n".to_owned()));
    let path = site.folder.path().join("mobile1.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "[hop]\nrate = \"2 Mbit/s\"\n").unwrap();
    let (code, words) = reload();
    assert_eq!(code, Some(2));
    assert!(words.contains("`hop` cannot change"), "{words}");
    first.0.signal(Signal::HUP);
    assert_eq!(site.passed(1), REQUESTS);
    for daemon in [first, gateway] {
        assert!(daemon.terminate().success());
    }
}
