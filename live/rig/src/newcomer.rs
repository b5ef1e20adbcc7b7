//! What somebody meets who tries lasthop for the first time: two hosts, each behind a router that translates, a rented
//! server between them, and the two commands of the README.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use edges::netlink::{MAIN_TABLE, Netlink};
use ipnet::IpNet;
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket, sockopt};

use crate::Failure;
use crate::hosts::{End, hosts, join, on, route, set, set_up};
use crate::process::{output, run};

/// The server between the hosts, its next hop, and a host of the internet, by each version of IP.
const GATEWAY: &str = "203.0.113.1";
const NEXT_HOP: &str = "203.0.113.2";
const INTERNET: [&str; 2] = ["198.18.0.1", "2001:db8:99::1"];
/// Addresses of the routers' uplinks, without the last number, and of the networks behind them.
const UPLINKS: [&str; 2] = ["192.0.2", "198.51.100"];
const HOMES: [&str; 2] = ["192.168.1", "192.168.2"];
/// Network of the gateway's link by IPv6, and its next hop there.
const ADVERTISED: &str = "2001:db8:1::";
const ADVERTISER: &str = "2001:db8:1::2/64";
/// The tunnel's device on a mobile host that has chosen nothing.
const INNER_LINK: &str = "lasthop0";
/// Bytes that cross the hop in each direction: more than a first window, in packets of every size.
const CONTENT: usize = 262_144;
/// Time for anything to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Circumstances of a first try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances {
    /// MTU of the routers' uplinks, in bytes.
    pub mtu: u32,
    /// The gateway's firewall drops what is forwarded, as Docker's and ufw's rules do.
    pub drops_forwarded: bool,
    /// The kernels check sources strictly.
    pub strict_source_check: bool,
    /// The gateway has its default route by IPv6 from router advertisements.
    pub is_advertised: bool,
    /// The mobile hosts reach a network with the inner addresses of the hop.
    pub clash: bool,
}

impl Circumstances {
    /// Every combination.
    pub fn all() -> impl Iterator<Item = Self> {
        let bits = |number: usize| [1, 2, 4, 8].map(|bit| number & bit != 0);
        let each = (0..16).map(bits);
        each.flat_map(
            |[drops_forwarded, strict_source_check, is_advertised, clash]| {
                [1_280, 1_400, 1_460, 1_492, 1_500].map(|mtu| Self {
                    mtu,
                    drops_forwarded,
                    strict_source_check,
                    is_advertised,
                    clash,
                })
            },
        )
    }
}

impl fmt::Display for Circumstances {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MTU {}", self.mtu)?;
        for (holds, what) in [
            (self.drops_forwarded, "forward policy drop"),
            (self.strict_source_check, "strict source check"),
            (self.is_advertised, "router advertisements"),
            (self.clash, "subnet clash"),
        ] {
            if holds {
                write!(formatter, ", {what}")?;
            }
        }
        Ok(())
    }
}

/// How a first try went.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Both hosts have sent and received through the hop: the longer time from the start of `join` until then, and
    /// that of `gateway up`, in seconds.
    Works {
        /// Time of `gateway up`.
        up: f64,
        /// Time from the start of `join` to the last byte.
        join: f64,
    },
    /// A command has named the reason in this line.
    SaysWhy(String),
}

/// The hosts, and the folder of their state. Ends all daemons when it is dropped.
pub struct Newcomer {
    program: PathBuf,
    folder: PathBuf,
    internet: Namespace,
    gateway: Namespace,
    routers: [Namespace; 2],
    mobiles: [Namespace; 2],
    circumstances: Circumstances,
}

impl Newcomer {
    /// Builds the networks; the daemons are those of `program`, and `folder` is for their files.
    pub fn new(
        program: &Path,
        folder: &Path,
        circumstances: Circumstances,
    ) -> Result<Self, Failure> {
        let [internet, gateway, first, second, one, other] = hosts()?;
        let newcomer = Self {
            program: program.into(),
            folder: folder.into(),
            internet,
            gateway,
            routers: [first, second],
            mobiles: [one, other],
            circumstances,
        };
        newcomer.prepare()?;
        newcomer.connect_gateway()?;
        for (number, name) in ["home0", "home1"].into_iter().enumerate() {
            newcomer.connect_home(number, name)?;
        }
        Ok(newcomer)
    }

    /// Sets the kernels' parameters, which links take over.
    fn prepare(&self) -> Result<(), Failure> {
        let all = [&self.internet, &self.gateway].into_iter();
        for host in all.chain(&self.routers).chain(&self.mobiles) {
            // Addresses are unique here, so that none has to wait for its examination.
            set(host, "net/ipv6/conf/default/accept_dad", "0")?;
            let check = u8::from(self.circumstances.strict_source_check).to_string();
            for scope in ["all", "default"] {
                set(host, &format!("net/ipv4/conf/{scope}/rp_filter"), &check)?;
            }
        }
        for host in [&self.internet].into_iter().chain(&self.routers) {
            set(host, "net/ipv4/ip_forward", "1")?;
        }
        set(&self.internet, "net/ipv6/conf/all/forwarding", "1")
    }

    fn connect_gateway(&self) -> Result<(), Failure> {
        let (near, far) = (format!("{NEXT_HOP}/24"), format!("{GATEWAY}/24"));
        join([
            End::new(&self.internet, "vps", &near),
            End::new(&self.gateway, "eth0", &far),
        ])?;
        route(&self.gateway, "0.0.0.0/0", NEXT_HOP)?;
        for address in [
            format!("{}/32", INTERNET[0]),
            format!("{}/128", INTERNET[1]),
        ] {
            set_up(End::new(&self.internet, "lo", &address))?;
        }
        if self.circumstances.is_advertised {
            set_up(End::new(&self.internet, "vps", ADVERTISER))?;
            // Advertised again, as routers do: the first may come before a link has its own address.
            let is_there = || {
                let advertised = on(&self.internet, || advertise("vps"));
                advertised.and_then(|()| self.default_by_ipv6())
            };
            let is_there = || is_there().unwrap_or(false);
            crate::wait("the default route by IPv6", PATIENCE, is_there)?;
        }
        if self.circumstances.drops_forwarded {
            let chain = "type filter hook forward priority 0; policy drop;";
            let rules = format!("table inet filter {{ chain forward {{ {chain} }}; }}");
            nft(&self.gateway, &rules)?;
        }
        Ok(())
    }

    /// Returns true if the gateway has a default route by IPv6.
    fn default_by_ipv6(&self) -> Result<bool, Failure> {
        let all: IpNet = IpNet::new(Ipv6Addr::UNSPECIFIED.into(), 0).expect("a prefix");
        let routes = on(&self.gateway, || Ok(Netlink::open()?.routes(MAIN_TABLE)?))?;
        Ok(routes.iter().any(|route| route.destination == all))
    }

    /// Connects a mobile host by a router whose uplink has the MTU.
    fn connect_home(&self, number: usize, name: &str) -> Result<(), Failure> {
        let (router, mobile) = (&self.routers[number], &self.mobiles[number]);
        let (uplink, home) = (UPLINKS[number], HOMES[number]);
        let [far, near] = [1, 2].map(|host| format!("{uplink}.{host}/24"));
        join([
            End::new(&self.internet, name, &far),
            End::new(router, "wan", &near),
        ])?;
        for (host, device) in [(&self.internet, name), (router, "wan")] {
            on(host, || {
                Ok(Netlink::open()?.set_mtu(device, self.circumstances.mtu)?)
            })?;
        }
        let [near, far] = [1, 2].map(|host| format!("{home}.{host}/24"));
        join([
            End::new(router, "lan", &near),
            End::new(mobile, "wlan0", &far),
        ])?;
        route(router, "0.0.0.0/0", &format!("{uplink}.1"))?;
        route(mobile, "0.0.0.0/0", &format!("{home}.1"))?;
        let chain = "type nat hook postrouting priority 100; oifname wan masquerade;";
        nft(
            router,
            &format!("table ip nat {{ chain out {{ {chain} }}; }}"),
        )
    }

    /// Runs the commands, and sends through the hop.
    ///
    /// # Errors
    /// If the hop does not work and no command has said why.
    pub fn try_it(&self) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        let up = self.lasthop(&self.gateway, "gateway", &["gateway", "up"])?;
        let up_time = begun.elapsed().as_secs_f64();
        if let Some(line) = up.reason() {
            return Ok(Outcome::SaysWhy(line));
        }
        let invite = ["invite", "--name", "second"];
        let lines = [
            up.join_line()?,
            self.lasthop(&self.gateway, "gateway", &invite)?
                .join_line()?,
        ];
        let mut longest = 0.0_f64;
        for (mobile, line) in lines.iter().enumerate() {
            if self.circumstances.clash {
                self.clash(mobile)?;
            }
            let begun = Instant::now();
            let name = format!("mobile{mobile}");
            let joined = self.lasthop(&self.mobiles[mobile], &name, &["join", line])?;
            if let Some(line) = joined.reason() {
                return Ok(Outcome::SaysWhy(line));
            }
            self.exchange(mobile, INTERNET[0])?;
            longest = longest.max(begun.elapsed().as_secs_f64());
            if self.circumstances.is_advertised {
                self.exchange(mobile, INTERNET[1])?;
            }
        }
        self.check_isolation()?;
        Ok(Outcome::Works {
            up: up_time,
            join: longest,
        })
    }

    /// Checks that the first mobile host is refused at every inner address of the second.
    fn check_isolation(&self) -> Result<(), Failure> {
        let [from, to] = &self.mobiles;
        let addresses = on(to, || Ok(Netlink::open()?.addresses(INNER_LINK)?))?;
        for address in addresses.iter().map(IpNet::addr) {
            if matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()) {
                continue;
            }
            let failed = |what| {
                move |error| Failure::Found(format!("{what} {address} of the other: {error}"))
            };
            let listener = on(to, || {
                TcpListener::bind((address, 0)).map_err(failed("cannot listen at"))
            })?;
            let server = listener.local_addr().map_err(failed("no port at"))?;
            let reached = from.run(|| TcpStream::connect_timeout(&server, PATIENCE))?;
            match reached.map_err(|error| error.kind()) {
                Err(ErrorKind::ConnectionRefused) => {}
                other => {
                    let what = format!("{address} of the other mobile host: {other:?}");
                    return Err(Failure::Found(what));
                }
            }
        }
        Ok(())
    }

    /// Leads the inner network to the router of a mobile host, as if there were such a network.
    fn clash(&self, mobile: usize) -> Result<(), Failure> {
        let path = self.folder.join("gateway/gateway/gateway.toml");
        let text = std::fs::read_to_string(&path).map_err(Failure::file("read", &path))?;
        let address = text.split("addresses = [\"").nth(1);
        let address = address.and_then(|rest| rest.split('"').next());
        let network: Option<IpNet> = address.and_then(|text| text.parse().ok());
        let network = network.ok_or_else(|| Failure::Found(format!("no addresses:\n{text}")))?;
        let via = format!("{}.1", HOMES[mobile]);
        route(&self.mobiles[mobile], &network.trunc().to_string(), &via)
    }

    /// Sends content from a mobile host to the internet and back; there it must come from the gateway.
    fn exchange(&self, mobile: usize, server: &str) -> Result<(), Failure> {
        let at: IpAddr = server.parse().expect("an address");
        let io = |what: &'static str| {
            let circumstances = self.circumstances;
            move |error: std::io::Error| {
                Failure::Found(format!("{what} {at} ({circumstances}): {error}"))
            }
        };
        let listener = on(&self.internet, || {
            TcpListener::bind((at, 0)).map_err(io("cannot listen at"))
        })?;
        let to = listener.local_addr().map_err(io("no address at"))?;
        let source = reflect(listener);
        let mut client = on(&self.mobiles[mobile], || {
            TcpStream::connect_timeout(&to, PATIENCE).map_err(io("cannot connect to"))
        })?;
        let limit = Some(PATIENCE);
        client.set_read_timeout(limit).map_err(io("no limit for"))?;
        client
            .set_write_timeout(limit)
            .map_err(io("no limit for"))?;
        let sent = vec![0x5a; CONTENT];
        client.write_all(&sent).map_err(io("cannot send to"))?;
        let mut back = vec![0; CONTENT];
        client.read_exact(&mut back).map_err(io("no answer from"))?;
        let source = source.recv_timeout(PATIENCE);
        let source = source.map_err(|error| Failure::Found(error.to_string()))?;
        let is_gateway = match source {
            IpAddr::V4(source) => source.to_string() == GATEWAY,
            IpAddr::V6(source) => source.segments()[..4] == [0x2001, 0xdb8, 1, 0],
        };
        if !is_gateway || back != sent {
            let what = format!("{at} was reached from {source}, not from the gateway");
            return Err(Failure::Found(what));
        }
        Ok(())
    }

    /// Runs a command on a host.
    fn lasthop(&self, host: &Namespace, state: &str, arguments: &[&str]) -> Result<Ran, Failure> {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--state");
        command.arg(self.folder.join(state)).stdin(Stdio::null());
        let output = output(&mut command, Some(host))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Ran {
            is_done: output.status.success(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        })
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        // A host on which nothing runs refuses, and that is all.
        for (number, mobile) in self.mobiles.iter().enumerate() {
            let _ = self.lasthop(mobile, &format!("mobile{number}"), &["leave"]);
        }
        let _ = self.lasthop(&self.gateway, "gateway", &["gateway", "down"]);
    }
}

/// What a command has printed.
struct Ran {
    is_done: bool,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// Returns the line with the reason why the hop does not work, if there is one.
    fn reason(&self) -> Option<String> {
        let mut lines = self.stderr.lines();
        let line = lines.find(|line| line.starts_with("error: "));
        line.map(Into::into)
    }

    fn join_line(&self) -> Result<String, Failure> {
        let line = self.stdout.trim().strip_prefix("lasthop join ");
        let what = || Failure::Found(format!("no join line:\n{}{}", self.stdout, self.stderr));
        line.filter(|_| self.is_done)
            .map(Into::into)
            .ok_or_else(what)
    }
}

/// Sends back what the first connection brings; returns its source.
fn reflect(listener: TcpListener) -> Receiver<IpAddr> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let (mut stream, from) = listener.accept().ok()?;
        let _ = tell.send(from.ip());
        let mut bytes = vec![0; CONTENT];
        stream.read_exact(&mut bytes).ok()?;
        stream.write_all(&bytes).ok()
    });
    told
}

/// Loads rules into a host's firewall.
fn nft(host: &Namespace, rules: &str) -> Result<(), Failure> {
    run(Command::new("nft").arg(rules), Some(host)).map(drop)
}

/// Sends one router advertisement (RFC 4861 §4.2) by a link: a default route for half an hour, and a prefix from which
/// hosts make their addresses.
fn advertise(link: &str) -> Result<(), Failure> {
    let found = |error: rustix::io::Errno| Failure::Found(format!("cannot advertise: {error}"));
    let index = Netlink::open()?.link(link)?.index;
    let raw =
        socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6)).map_err(found)?;
    sockopt::set_ipv6_multicast_hops(&raw, 255).map_err(found)?;
    let mut message = vec![134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
    message.extend([3, 4, 64, 0xc0]);
    message.extend([0, 0, 0x0e, 0x10, 0, 0, 0x0e, 0x10, 0, 0, 0, 0]);
    let prefix: Ipv6Addr = ADVERTISED.parse().expect("an address");
    message.extend(prefix.octets());
    let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let to = SocketAddrV6::new(all, 0, 0, index);
    sendto(&raw, &message, SendFlags::empty(), &to).map_err(found)?;
    Ok(())
}
