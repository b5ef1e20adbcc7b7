//! A mobile host, a gateway and a fixed host, each a network namespace.

pub(crate) mod air;
pub(crate) mod cell;
pub(crate) mod file_server;
pub(crate) mod ganesha;
pub(crate) mod lan;
pub(crate) mod turn;

use std::fs;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use air::Air;
use edges::namespace::Namespace;
use edges::netlink::{MAIN_TABLE, Netlink, Route};
use edges::sysctl;
use lan::Lan;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;
use turn::Turn;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_lasthop");
/// The fixed host, and the gateway as the fixed host sees it.
pub(crate) const FIXED_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
pub(crate) const GATEWAY_OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
/// A fast hop with losses that are lonely.
pub(crate) const LOSSY_LINK: &str = r#"
[each]
rate = "50 Mbit/s"
delay = "2 ms"
queue = "200 packets"
[errors]
model = "independent"
p = "2 %"
"#;
/// So long a test waits for what must come; it decides nothing but how long a failure takes.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Whether the machine lets the test run; said, and under CI=true demanded.
pub(crate) fn able() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_nft = std::env::split_paths(&path).any(|folder| folder.join("nft").is_file());
    let missing = match Namespace::create() {
        Err(error) => Some(error.to_string()),
        Ok(_) if !has_nft => Some("the program 'nft' is missing".into()),
        Ok(_) if !Path::new("/dev/net/tun").exists() => Some("there is no /dev/net/tun".into()),
        Ok(_) => None,
    };
    if let Some(reason) = &missing {
        assert!(
            std::env::var_os("CI").is_none(),
            "under CI nothing is skipped: {reason}"
        );
        eprintln!("skipped: {reason}");
    }
    missing.is_none()
}

/// The three hosts and the folder of the daemons' files.
pub(crate) struct Hosts {
    pub(crate) mobile: Namespace,
    pub(crate) gateway: Namespace,
    pub(crate) fixed: Namespace,
    pub(crate) folder: TempDir,
    _air: Option<Air>,
    _turn: Turn,
}

impl Hosts {
    /// Mobile – gateway – fixed host. The fixed host knows no way to the mobile.
    pub(crate) fn create() -> Self {
        Self::joined_by(|gateway, mobile| {
            join(gateway, mobile, ["10.1.0.1/24", "10.1.0.2/24"], "air");
            None
        })
    }

    /// The same with an emulated hop, as `link` (TOML) says.
    pub(crate) fn over_air(link: &str) -> Self {
        Self::joined_by(|gateway, mobile| Some(Air::between([gateway, mobile], link, 1)))
    }

    /// The same with a local network of the gateway, in which the mobile host moves.
    pub(crate) fn on_lan() -> (Self, Lan) {
        let mut lan = None;
        let hosts = Self::joined_by(|gateway, mobile| {
            lan = Some(Lan::between([gateway, mobile]));
            None
        });
        (hosts, lan.unwrap())
    }

    fn joined_by(hop: impl FnOnce(&Namespace, &Namespace) -> Option<Air>) -> Self {
        let turn = Turn::take();
        let [mobile, gateway, fixed] = std::array::from_fn(|_| Namespace::create().unwrap());
        let air = hop(&gateway, &mobile);
        join(
            &gateway,
            &fixed,
            ["198.51.100.1/24", "198.51.100.2/24"],
            "wire",
        );
        let default = Route::to("0.0.0.0/0".parse().unwrap()).via("10.1.0.1".parse().unwrap());
        mobile
            .run(|| Netlink::open().unwrap().add_route(&default).unwrap())
            .unwrap();
        mobile
            .run(|| sysctl::set("net/ipv4/ping_group_range", "0 0").unwrap())
            .unwrap();
        let hosts = Self {
            mobile,
            gateway,
            fixed,
            folder: tempfile::tempdir().unwrap(),
            _air: air,
            _turn: turn,
        };
        hosts.configure();
        hosts
    }

    fn configure(&self) {
        let folder = self.folder.path();
        let [gateway, mobile] = ["gateway", "mobile"].map(|name| self.key(&format!("{name}.key")));
        let common = format!("state_dir = \"{}\"\n", folder.join("state").display());
        let peers = format!("[[peers]]\nname = \"tablet7\"\npublic_key = \"{mobile}\"\n");
        fs::write(
            folder.join("gateway.toml"),
            format!(
                "private_key_file = \"gateway.key\"\n{common}[tun]\n\
                 addresses = [\"10.73.0.1/24\", \"fd73::1/64\"]\n\
                 {peers}addresses = [\"10.73.0.2\", \"fd73::2\", \"10.74.0.0/24\"]\n"
            ),
        )
        .unwrap();
        fs::write(
            folder.join("mobile.toml"),
            format!(
                "private_key_file = \"mobile.key\"\n{common}[gateway]\nendpoint = \
            \"10.1.0.1:51830\"\npublic_key = \"{gateway}\"\n[tun]\naddresses = [\"10.73.0.2/24\", \
            \"fd73::2/64\"]\n"
            ),
        )
        .unwrap();
    }

    fn key(&self, name: &str) -> String {
        let file = self.folder.path().join(name);
        let output = Command::new(PROGRAM)
            .arg("keygen")
            .arg(file)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    /// Puts `lines` before the first line of a part's configuration that begins with `place`.
    pub(crate) fn configure_more(&self, part: &str, place: &str, lines: &str) {
        let file = self.folder.path().join(format!("{part}.toml"));
        let old = fs::read_to_string(&file).unwrap();
        let new = old.replacen(&format!("\n{place}"), &format!("\n{lines}\n{place}"), 1);
        assert_ne!(old, new, "there is no line '{place}'");
        fs::write(file, new).unwrap();
    }

    /// Makes a secret to share.
    pub(crate) fn make_secret(&self) {
        let file = self.folder.path().join("tablet7.psk");
        let made = Command::new(PROGRAM)
            .args(["keygen", "--preshared"])
            .arg(file)
            .status();
        assert!(made.unwrap().success());
    }

    /// Starts the daemon of that part.
    pub(crate) fn start(&self, part: &str) -> Daemon {
        self.start_with(part, &[])
    }

    /// The same, with variables in its environment.
    pub(crate) fn start_with(&self, part: &str, variables: &[(&str, &str)]) -> Daemon {
        let folder = self.folder.path();
        let path = folder.join(format!("{part}.log"));
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        let mut command = Command::new(PROGRAM);
        command
            .arg(part)
            .arg("--config")
            .arg(folder.join(format!("{part}.toml")));
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stderr(log);
        let host = if part == "mobile" {
            &self.mobile
        } else {
            &self.gateway
        };
        let child = host.spawn(command).unwrap();
        Daemon {
            child,
            log: folder.join(format!("{part}.log")),
        }
    }

    /// What `lasthop status --json` says of that daemon; null if nobody answers.
    pub(crate) fn status(&self, name: &str) -> Value {
        let mut command = Command::new(PROGRAM);
        command.args(["status", "--json", "--name", name, "--state-dir"]);
        let output = command
            .arg(self.folder.path().join("state"))
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    pub(crate) fn wait_until_connected(&self) {
        self.wait_until("the mobile is connected", || {
            !self.status("mobile")["host"]["peers"][0]["keys_age"].is_null()
        });
    }

    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let begun = Instant::now();
        while !condition() {
            assert!(begun.elapsed() < LONG, "never: {what}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What that part's daemons have logged.
    pub(crate) fn log(&self, part: &str) -> String {
        let file = self.folder.path().join(format!("{part}.log"));
        fs::read_to_string(file).unwrap_or_default()
    }

    pub(crate) fn logs(&self) -> String {
        format!("{}\n{}", self.log("gateway"), self.log("mobile"))
    }

    /// All that daemons could leave in the system.
    pub(crate) fn traces(&self) -> Vec<String> {
        let [mobile, gateway] = [&self.mobile, &self.gateway].map(|host| host.run(traces).unwrap());
        let state = fs::read_dir(self.folder.path().join("state"));
        let undo = state
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name());
        let undo = undo
            .map(|name| name.into_string().unwrap())
            .filter(|name| name.contains("undo"));
        mobile.into_iter().chain(gateway).chain(undo).collect()
    }
}

fn traces() -> Vec<String> {
    let mut netlink = Netlink::open().unwrap();
    let links = netlink.links().unwrap().into_iter().map(|link| link.name);
    let mut traces: Vec<String> = links.collect();
    traces.extend(
        netlink
            .routes(MAIN_TABLE)
            .unwrap()
            .iter()
            .map(ToString::to_string),
    );
    for table in [51_830, 51_831] {
        let routes = netlink.routes(table).unwrap();
        traces.extend(routes.iter().map(ToString::to_string));
    }
    traces.extend(netlink.rules().unwrap().iter().map(ToString::to_string));
    for name in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
        traces.push(sysctl::read(name).unwrap());
    }
    let tables = Command::new("nft")
        .args(["list", "tables"])
        .output()
        .unwrap();
    traces.push(String::from_utf8(tables.stdout).unwrap());
    traces
}

/// Joins two namespaces by a virtual cable of that name; both ends bear it.
fn join(one: &Namespace, other: &Namespace, addresses: [&str; 2], name: &str) {
    let draft = format!("{name}.new");
    let set_up = |address: &str| {
        let mut netlink = Netlink::open().unwrap();
        netlink.add_address(name, address.parse().unwrap()).unwrap();
        netlink.set_up(name).unwrap();
    };
    one.run(|| {
        let mut netlink = Netlink::open().unwrap();
        netlink.create_veth(name, &draft).unwrap();
        netlink.move_link(&draft, other).unwrap();
        set_up(addresses[0]);
    })
    .unwrap();
    other
        .run(|| {
            Netlink::open().unwrap().rename_link(&draft, name).unwrap();
            set_up(addresses[1]);
        })
        .unwrap();
}

/// A running daemon; killed when dropped.
pub(crate) struct Daemon {
    child: Child,
    log: std::path::PathBuf,
}

impl Daemon {
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// Its effective capabilities.
    pub(crate) fn capabilities(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
    }

    /// The memory that it has taken, in bytes: now (`VmRSS` in proc(5)), or at most so far (`VmHWM`).
    pub(crate) fn memory(&self, line: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|text| text.starts_with(line));
        let kibibytes = line.unwrap().split_whitespace().nth(1).unwrap();
        kibibytes.parse::<u64>().unwrap() << 10
    }

    /// The time of a processor that it has used, as user and as system (proc(5): stat).
    pub(crate) fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks: u64 = [fields[11], fields[12]]
            .iter()
            .map(|field| field.parse::<u64>().unwrap())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// Waits for its end; its exit code and all that it said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        (status.code(), fs::read_to_string(&self.log).unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets the mobile host fetch `length` bytes from the fixed host by TCP, checks each of them, and gives
/// the address that the fixed host saw.
pub(crate) fn fetch(hosts: &Hosts, length: usize) -> IpAddr {
    fetch_from(hosts, (&hosts.fixed, FIXED_HOST), length)
}

/// The same from any host, by one of its addresses.
pub(crate) fn fetch_from(hosts: &Hosts, server: (&Namespace, IpAddr), length: usize) -> IpAddr {
    fetch_between(hosts, server, &hosts.mobile, length)
}

/// The same by any host.
pub(crate) fn fetch_between(
    hosts: &Hosts,
    (server, address): (&Namespace, IpAddr),
    client: &Namespace,
    length: usize,
) -> IpAddr {
    let content: Vec<u8> = (0..length)
        .map(|place| (place ^ place >> 9) as u8)
        .collect();
    let address = SocketAddr::new(address, 0);
    let listener = server.run(|| TcpListener::bind(address).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let fetched = client.run(|| {
        let stream = TcpStream::connect_timeout(&address, LONG);
        stream.unwrap_or_else(|error| panic!("{error}\n{}", hosts.logs()))
    });
    let mut stream = fetched.unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut stream, peer) = listener.accept().unwrap();
            stream.set_write_timeout(Some(LONG)).unwrap();
            stream.write_all(&content).unwrap();
            peer.ip()
        });
        let mut received = Vec::with_capacity(length);
        stream.read_to_end(&mut received).unwrap();
        assert!(
            received == content,
            "{} of {length} bytes, or wrong ones",
            received.len()
        );
        server.join().unwrap()
    })
}

/// An echo request (RFC 792) from `host`, which must be answered; lost ones are sent again.
pub(crate) fn ping(host: &Namespace, to: IpAddr) {
    let open = || Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)).unwrap();
    let socket = host.run(open).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let begun = Instant::now();
    let mut answer = [MaybeUninit::new(0); 64];
    loop {
        socket
            .send_to(b"\x08\0\0\0\0\0\0\x01echo", &SocketAddr::new(to, 0).into())
            .unwrap();
        match socket.recv(&mut answer) {
            Ok(length) => return assert_eq!(length, 12),
            Err(error) => assert!(begun.elapsed() < LONG, "no answer to a ping: {error}"),
        }
    }
}
