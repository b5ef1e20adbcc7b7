//! Collects the facts of this host. What cannot be read is left out: nothing is found by it then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use edges::netlink::{MAIN_TABLE, Netlink};
use edges::process::find_program;
use edges::{clock, nft, sandbox, sysctl};
use rustix::process::{Resource, getrlimit};

use super::facts::{End, Facts, Network, Place, Reached, System};
use super::{iptables, nft as listing, speed};

/// Device of the TUN driver.
const TUN: &str = "/dev/net/tun";
/// Parameters of the whole host.
const PARAMETERS: [&str; 6] = [
    "net/ipv4/ip_forward",
    "net/ipv6/conf/all/forwarding",
    "net/ipv4/conf/all/rp_filter",
    "net/netfilter/nf_conntrack_max",
    "net/netfilter/nf_conntrack_count",
    "net/core/rmem_max",
];
/// Parameters of each link.
const OF_LINKS: [(&str, &str); 2] = [
    ("net/ipv4/conf", "rp_filter"),
    ("net/ipv6/conf", "accept_ra"),
];
/// Files of the kernel: UDP sockets, and IPv6 routes.
const SOCKETS: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];
const IPV6_ROUTES: &str = "/proc/net/ipv6_route";
/// Flag of a route that an advertisement has made (`RTF_ADDRCONF`).
const ADVERTISED: u32 = 0x0004_0000;
/// Longest wait for an answer by TCP.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most files of a folder that are examined.
const MOST_FILES: usize = 64;

/// Returns the facts that need no time: not the speed, and not what is far away.
pub(crate) fn near(end: End, folders: &[PathBuf]) -> Facts {
    Facts {
        system: system(folders),
        network: network(&end),
        chains: chains(),
        places: Vec::new(),
        end,
    }
}

/// Adds what takes a moment: the speed, and the gateway of a mobile host at these addresses, with the mark of datagrams
/// that do not take the hop.
pub(crate) fn far(facts: &mut Facts, endpoints: &[String], mark: u32) {
    facts.system.seal_rate = Some(speed::measure());
    facts.places = endpoints.iter().map(|text| place(text, mark)).collect();
}

fn system(folders: &[PathBuf]) -> System {
    let tun = OpenOptions::new().read(true).write(true).open(TUN);
    let secrets = folders.iter().flat_map(|folder| open_secrets(folder));
    System {
        clock: clock::wall().as_nanos() / 1_000_000_000,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        seal_rate: None,
        has_nft: nft::is_installed(),
        tun_error: tun.err().map(|error| error.to_string()),
        has_landlock: sandbox::has_landlock(),
        has_seccomp: has_seccomp(),
        has_segmentation: edges::udp::has_segmentation(),
        open_files: getrlimit(Resource::Nofile).maximum,
        open_secrets: secrets.collect(),
    }
}

fn has_seccomp() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Seccomp:"))
}

/// Returns the key files of a folder, and the folder itself, that others may open.
fn open_secrets(folder: &Path) -> Vec<(PathBuf, u32)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.take(MOST_FILES).map(|entry| entry.path());
    let keys = files.filter(|path| path.extension().is_some_and(|its| its == "key"));
    let is_open = |path: PathBuf| {
        let mode = std::fs::metadata(&path).ok()?.mode() & 0o777;
        (mode & 0o077 != 0).then_some((path, mode))
    };
    keys.filter_map(is_open).collect()
}

fn network(end: &End) -> Network {
    let mut netlink = Netlink::open().ok();
    let links = netlink.as_mut().and_then(|netlink| netlink.links().ok());
    let links = links.unwrap_or_default().into_iter();
    let links = links.filter(|link| link.up && link.name != "lo" && link.name != end.link);
    let links: Vec<_> = links.map(|link| link.name).collect();
    let routes = netlink
        .as_mut()
        .and_then(|netlink| netlink.routes(MAIN_TABLE).ok());
    Network {
        parameters: parameters(links.iter().map(String::as_str).chain([&*end.link])),
        ipv6_defaults: ipv6_defaults(&read(IPV6_ROUTES)),
        ports: SOCKETS.iter().flat_map(|file| ports(&read(file))).collect(),
        routes: routes.unwrap_or_default(),
        links,
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn parameters<'a>(links: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let of_links = links.flat_map(|link| {
        OF_LINKS.map(|(folder, parameter)| format!("{folder}/{link}/{parameter}"))
    });
    let names = PARAMETERS.iter().map(|name| (*name).to_owned());
    let value = |name: String| sysctl::read(&name).ok().map(|value| (name, value));
    names.chain(of_links).filter_map(value).collect()
}

/// Returns the ports in a file of the kernel that lists UDP sockets.
fn ports(text: &str) -> BTreeSet<u16> {
    let port = |line: &str| {
        let local = line.split_whitespace().nth(1)?;
        u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()
    };
    text.lines().skip(1).filter_map(port).collect()
}

/// Returns the links of the IPv6 default routes in a file of the kernel; true if an advertisement has made one.
fn ipv6_defaults(text: &str) -> Vec<(String, bool)> {
    let route = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [destination, length, .., flags, link] = words[..] else {
            return None;
        };
        let is_default = length == "00" && destination.bytes().all(|byte| byte == b'0');
        let flags = u32::from_str_radix(flags, 16).ok()?;
        (is_default && link != "lo").then(|| (link.to_owned(), flags & ADVERTISED != 0))
    };
    text.lines().filter_map(route).collect()
}

/// Returns the chains of the firewall, as its programs list them.
fn chains() -> Vec<super::chains::Chain> {
    let listed = nft::list_ruleset().unwrap_or_default();
    let mut chains = listing::parse(&listed);
    for program in ["iptables", "ip6tables"] {
        if let Some(path) = find_program(program) {
            let listed = Command::new(path).args(["-w", "2", "-S"]).output();
            let text = listed.map(|output| output.stdout).unwrap_or_default();
            chains.extend(iptables::parse(program, &String::from_utf8_lossy(&text)));
        }
    }
    chains
}

/// Examines one address of the gateway.
fn place(text: &str, mark: u32) -> Place {
    use std::net::ToSocketAddrs;
    let state = match text.to_socket_addrs().map(|mut found| found.next()) {
        Err(error) => Reached::Unresolved(error.to_string()),
        Ok(None) => Reached::Unresolved("the name has no address".into()),
        Ok(Some(at)) => try_tcp(at, mark),
    };
    Place {
        text: text.into(),
        state,
    }
}

fn try_tcp(at: SocketAddr, mark: u32) -> Reached {
    let connect = || -> std::io::Result<TcpStream> {
        let domain = socket2::Domain::for_address(at);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
        // Without the rights for it there is no tunnel of ours either.
        let _ = socket.set_mark(mark);
        socket.connect_timeout(&at.into(), PATIENCE)?;
        Ok(socket.into())
    };
    match connect() {
        Ok(_) => Reached::Answers,
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused => Reached::Answers,
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
                Reached::NoRoute(error.to_string())
            }
            _ => Reached::Silent(at.ip()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read() {
        let sockets = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            1: 00000000:CA76 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 123 2\n\
            2: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 124 2\n";
        assert_eq!(ports(sockets), [51_830, 53].into());
        let zeros = "0".repeat(32);
        let line = |length: &str, flags: &str, link: &str| {
            format!(
                "{zeros} {length} {zeros} 00 {zeros} 00000400 00000001 00000000 {flags} {link}\n"
            )
        };
        let routes = [
            line("00", "00450003", "eth0"),
            line("00", "00000003", "eth1"),
            line("40", "00450003", "eth2"),
            line("00", "00200200", "lo"),
        ];
        let expected = [("eth0".to_owned(), true), ("eth1".to_owned(), false)];
        assert_eq!(ipv6_defaults(&routes.concat()), expected);
    }
}
