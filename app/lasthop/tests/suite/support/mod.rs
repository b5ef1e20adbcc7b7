//! A mobile host, a gateway and a fixed host, each a network namespace.

pub(crate) mod air;
pub(crate) mod cell;
pub(crate) mod download;
pub(crate) mod file_server;
pub(crate) mod lan;
pub(crate) mod turn;

use std::fs;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use air::Air;
use edges::namespace::Namespace;
use edges::netlink::{MAIN_TABLE, Netlink};
use edges::sysctl;
use lan::Lan;
use rig::daemons::{make_key, status};
use rig::needs::{can_test, no_hosts, no_program};
use rig::{End, Process};
use serde_json::Value;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
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
    let no_tun = || {
        let is_there = Path::new("/dev/net/tun").exists();
        (!is_there).then(|| "there is no /dev/net/tun".into())
    };
    can_test(no_hosts().or_else(|| no_program("nft")).or_else(no_tun))
}

/// Waits until something holds; if it does not, the test fails and prints `logs`.
#[track_caller]
pub(crate) fn wait_until(what: &str, logs: impl Fn() -> String, holds: impl FnMut() -> bool) {
    let waited = rig::wait(what, LONG, holds);
    assert!(waited.is_ok(), "never: {what}\n{}", logs());
}

/// Content of which no two blocks are equal.
pub(crate) fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    machine::RandomStream::named(seed, "content").fill(&mut bytes);
    bytes
}

/// Installs the program in another place. No file descriptor of ours ever writes it, which a process that another test
/// starts would have for a moment: what is being written cannot be run.
pub(crate) fn install(to: &Path) {
    let copied = Command::new("cp").arg(PROGRAM).arg(to).status();
    assert!(copied.unwrap().success());
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
        let [mobile, gateway, fixed] = rig::hosts().unwrap();
        let air = hop(&gateway, &mobile);
        join(
            &gateway,
            &fixed,
            ["198.51.100.1/24", "198.51.100.2/24"],
            "wire",
        );
        rig::route(&mobile, "0.0.0.0/0", "10.1.0.1").unwrap();
        rig::set(&mobile, "net/ipv4/ping_group_range", "0 0").unwrap();
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
        let key = |name| make_key(Path::new(PROGRAM), folder, name).unwrap();
        let [gateway, mobile] = ["gateway", "mobile"].map(key);
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

    /// Puts `lines` before the first line of a part's configuration that begins with `place`.
    pub(crate) fn configure_more(&self, part: &str, place: &str, lines: &str) {
        let file = self.folder.path().join(format!("{part}.toml"));
        let old = fs::read_to_string(&file).unwrap();
        let new = old.replacen(&format!("\n{place}"), &format!("\n{lines}\n{place}"), 1);
        assert_ne!(old, new, "there is no line '{place}'");
        fs::write(file, new).unwrap();
    }

    /// Turns the translation of addresses off; the fixed host learns the way back.
    pub(crate) fn without_nat(&self) {
        self.configure_more("gateway", "[tun]", "nat = false");
        self.make_way_back();
    }

    /// Gives the fixed host a route to the mobile host.
    pub(crate) fn make_way_back(&self) {
        let via = GATEWAY_OUTSIDE.to_string();
        rig::route(&self.fixed, "10.73.0.0/24", &via).unwrap();
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

    /// Starts the gateway's daemon and the mobile host's, and waits until they are connected.
    pub(crate) fn start_both(&self) -> [Daemon; 2] {
        let daemons = ["gateway", "mobile"].map(|part| self.start(part));
        self.wait_until_connected();
        daemons
    }

    /// Starts the daemon of that part.
    pub(crate) fn start(&self, part: &str) -> Daemon {
        self.start_with(part, &[])
    }

    /// The same, with variables of its environment.
    pub(crate) fn start_with(&self, part: &str, environment: &[(&str, &str)]) -> Daemon {
        self.start_as(part, &[], environment)
    }

    /// Lets another process take the place of the gateway's, and waits for the end of that one.
    pub(crate) fn succeed(&self, gateway: &mut Daemon) {
        let next = self.start_as("gateway", &["--take-over"], &[]);
        let former = std::mem::replace(gateway, next);
        let (code, words) = former.end();
        assert_eq!(code, Some(0), "{words}");
        self.wait_until("the next process answers", || {
            !self.status("gateway").is_null()
        });
    }

    /// Starts the gateway as a supervisor does that has kept `stored` for it.
    pub(crate) fn start_with_stored(&self, notify: &Path, stored: OwnedFd) -> Daemon {
        let mut command = Command::new("sh");
        let script =
            format!("exec 3<&0; LISTEN_PID=$$ exec {PROGRAM} gateway --config gateway.toml");
        command
            .args(["-c", &script])
            .current_dir(self.folder.path());
        command.env("NOTIFY_SOCKET", notify);
        command
            .env("LISTEN_FDS", "1")
            .env("LISTEN_FDNAMES", "lasthop-connections");
        command.stdin(stored);
        let folder = self.folder.path();
        let started = Process::with_streams(command, "gateway", folder, Some(&self.gateway));
        Daemon(started.unwrap())
    }

    /// The same, with options of the command.
    pub(crate) fn start_as(
        &self,
        part: &str,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Daemon {
        let mut command = Command::new(PROGRAM);
        command
            .envs(environment.iter().copied())
            .current_dir(self.folder.path());
        command.args([part, "--config", &format!("{part}.toml")]);
        command.args(options);
        let host = if part == "mobile" {
            &self.mobile
        } else {
            &self.gateway
        };
        Daemon(Process::start(command, part, self.folder.path(), Some(host)).unwrap())
    }

    /// The same, and waits until it answers.
    pub(crate) fn start_until_ready(&self, part: &str) -> Daemon {
        let daemon = self.start(part);
        self.wait_until("the daemon answers", || !self.status(part).is_null());
        daemon
    }

    /// Exit code and page of `lasthop status`.
    pub(crate) fn status_page(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(PROGRAM);
        command.arg("status").args(arguments).arg("--state-dir");
        let output = command
            .arg(self.folder.path().join("state"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }

    /// What `lasthop status --json` says of that daemon; null if nobody answers.
    pub(crate) fn status(&self, name: &str) -> Value {
        let state = self.folder.path().join("state");
        status(Path::new(PROGRAM), name, &state).unwrap_or_default()
    }

    /// What it says of its first peer.
    pub(crate) fn peer(&self, name: &str) -> Value {
        self.status(name)["host"]["peers"][0].clone()
    }

    pub(crate) fn wait_until_connected(&self) {
        self.wait_until("the mobile is connected", || {
            !self.peer("mobile")["keys_age"].is_null()
        });
    }

    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        wait_until(what, || self.logs(), condition);
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
fn join(one: &Namespace, other: &Namespace, [near, far]: [&str; 2], name: &str) {
    rig::join([End::new(one, name, near), End::new(other, name, far)]).unwrap();
}

/// A running daemon; killed when dropped.
pub(crate) struct Daemon(pub(crate) Process);

impl Daemon {
    pub(crate) fn kill(mut self) {
        self.0.kill();
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.0.end().unwrap()
    }

    /// Its effective capabilities.
    pub(crate) fn capabilities(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
    }

    /// The memory that it has taken, in bytes: now (`VmRSS` in proc(5)), or at most so far (`VmHWM`).
    pub(crate) fn memory(&self, field: &str) -> u64 {
        self.0.memory(field).unwrap().get()
    }

    /// The time of a processor that it has used, as user and as system (proc(5): stat).
    pub(crate) fn processor_time(&self) -> Duration {
        self.0.usage().processor.into()
    }

    /// Waits for its end; its exit code and all that it said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.0.wait().unwrap();
        (status.code(), self.0.words())
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
    server: (&Namespace, IpAddr),
    client: &Namespace,
    length: usize,
) -> IpAddr {
    let connected = connect(client, server.0, server.1);
    let (client, server) = connected.unwrap_or_else(|error| panic!("{error}\n{}", hosts.logs()));
    let seen = server.peer_addr().unwrap().ip();
    carry(server, client, length);
    seen
}

/// A connection that a client asks a server for, by one of its addresses; the client's end comes first.
pub(crate) fn connect(
    client: &Namespace,
    server: &Namespace,
    address: IpAddr,
) -> io::Result<(TcpStream, TcpStream)> {
    connect_to(client, server, SocketAddr::new(address, 0))
}

/// A connection as of [`connect`], to a server that listens at `address`; port 0 stands for a free one.
pub(crate) fn connect_to(
    client: &Namespace,
    server: &Namespace,
    address: SocketAddr,
) -> io::Result<(TcpStream, TcpStream)> {
    let listener = server.run(|| TcpListener::bind(address)).unwrap()?;
    let address = listener.local_addr()?;
    let client = client
        .run(|| TcpStream::connect_timeout(&address, LONG))
        .unwrap()?;
    // A connection that was reset meanwhile is not accepted.
    SockRef::from(&listener).set_read_timeout(Some(LONG))?;
    let (server, _) = listener.accept()?;
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(LONG))?;
        stream.set_write_timeout(Some(LONG))?;
    }
    Ok((client, server))
}

/// Sends `length` bytes and the end from one end of a connection to the other, and checks each of them.
pub(crate) fn carry(mut from: TcpStream, mut to: TcpStream, length: usize) {
    let content = content(length, 0);
    std::thread::scope(|scope| {
        let content = &content;
        scope.spawn(move || from.write_all(content).unwrap());
        let mut received = Vec::with_capacity(length);
        to.read_to_end(&mut received).unwrap();
        assert!(
            received == *content,
            "{} of {length} bytes, or wrong ones",
            received.len()
        );
    });
}

/// Carries out commands of nft(8) at a host.
pub(crate) fn rule(host: &Namespace, rules: &str) {
    let mut command = Command::new("nft");
    command.arg(rules);
    assert!(host.spawn(command).unwrap().wait().unwrap().success());
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
