//! Addresses of other hosts for which a gateway answers its neighbours on a LAN, and that it announces. Needs root.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use edges::lease::{Lease, TERM, renewal};
use edges::namespace::Namespace;
use edges::neighbours::Announcer;
use edges::netlink::{Netlink, Route};
use edges::sysctl;
use edges::tun::{PacketDevice, TunDevice, TunOptions};
use edges::undo::UndoLog;

use crate::support::{address, connect, net, privileged};

const PATIENCE: Duration = Duration::from_secs(10);
const ADDRESSES: [&str; 2] = ["10.73.0.2", "fd73::2"];

/// A gateway on the LAN, and a host behind it that has both addresses, as that behind the other one.
struct Gateway {
    host: Namespace,
    _mobile: Namespace,
    sockets: [UdpSocket; 2],
}

impl Gateway {
    fn create(lan: &Namespace, number: u8) -> Self {
        let (host, mobile) = (Namespace::create().unwrap(), Namespace::create().unwrap());
        let port = format!("port{number}");
        let within = || {
            connect(&mobile, net("10.99.0.1/24"), net("10.73.0.2/8"));
            for name in ["ipv4/conf/all/forwarding", "ipv6/conf/all/forwarding"] {
                sysctl::set(&format!("net/{name}"), "1").unwrap();
            }
            let mut netlink = Netlink::open().unwrap();
            netlink.add_address("near", net("fd73::1/64")).unwrap();
            let inside = Route::to(net("10.73.0.2/32")).through("near");
            netlink.add_route(&inside).unwrap();
            netlink.create_veth("eth", &port).unwrap();
            netlink.move_link(&port, lan).unwrap();
            for text in [format!("10.0.0.{number}/24"), format!("fd00::{number}/64")] {
                netlink.add_address("eth", net(&text)).unwrap();
            }
            netlink.set_up("eth").unwrap();
            for name in [
                "ipv4/neigh/eth/proxy_delay",
                "ipv6/neigh/eth/proxy_delay",
                "ipv6/conf/eth/proxy_ndp",
            ] {
                let value = if name.ends_with("ndp") { "1" } else { "0" };
                sysctl::set(&format!("net/{name}"), value).unwrap();
            }
        };
        host.run(within).unwrap();
        lan.run(|| {
            let mut netlink = Netlink::open().unwrap();
            netlink.set_bridge(&port, Some("lan")).unwrap();
            netlink.set_up(&port).unwrap();
        })
        .unwrap();
        let bind = || {
            let mut netlink = Netlink::open().unwrap();
            netlink.add_address("far", net("fd73::2/64")).unwrap();
            ADDRESSES.map(|at| {
                let socket = UdpSocket::bind((address(at), 7)).unwrap();
                socket.set_nonblocking(true).unwrap();
                socket
            })
        };
        let sockets = mobile.run(bind).unwrap();
        Self {
            host,
            _mobile: mobile,
            sockets,
        }
    }

    /// Answers for an address from now on, or no more.
    fn answers(&self, at: IpAddr, begins: bool) {
        let change = || {
            let mut netlink = Netlink::open().unwrap();
            if begins {
                netlink.add_proxy("eth", at).unwrap();
                // Once more is no error, as an earlier process may have left it.
                netlink.add_proxy("eth", at).unwrap();
            } else {
                netlink.remove_proxy("eth", at).unwrap();
                let again = netlink.remove_proxy("eth", at).unwrap_err();
                assert!(again.is_missing(), "{again}");
            }
        };
        self.host.run(change).unwrap();
    }

    /// Returns true if a datagram has come to the host behind it.
    fn has_come(&self, version: usize) -> bool {
        self.sockets[version].recv(&mut [0; 8]).is_ok()
    }
}

fn create_lan() -> Namespace {
    let lan = Namespace::create().unwrap();
    lan.run(|| {
        let mut netlink = Netlink::open().unwrap();
        netlink.create_bridge("lan").unwrap();
        for text in ["10.0.0.100/24", "fd00::100/64"] {
            netlink.add_address("lan", net(text)).unwrap();
        }
        netlink.set_up("lan").unwrap();
        for network in ["10.73.0.0/24", "fd73::/64"] {
            let on_link = Route::to(net(network)).through("lan");
            netlink.add_route(&on_link).unwrap();
        }
    })
    .unwrap();
    lan
}

/// Sends datagrams until one comes to the host behind a gateway, and calls `each` before each of them.
fn comes_to(
    socket: &UdpSocket,
    to: SocketAddr,
    gateway: &Gateway,
    version: usize,
    mut each: impl FnMut(),
) {
    let end = Instant::now() + PATIENCE;
    while !gateway.has_come(version) {
        assert!(Instant::now() < end, "nothing comes to {to}");
        each();
        // A link that is not up yet is an error at first.
        let _ = socket.send_to(b"for whom", to);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn neighbours_follow_an_address_to_the_gateway_that_announces_it() {
    if !privileged() {
        return;
    }
    let lan = create_lan();
    let gateways = [1, 2].map(|number| Gateway::create(&lan, number));
    for (version, text) in ADDRESSES.into_iter().enumerate() {
        let to = SocketAddr::new(address(text), 7);
        let any = ["0.0.0.0:0", "[::]:0"][version];
        let socket = lan.run(|| UdpSocket::bind(any)).unwrap().unwrap();
        gateways[0].answers(to.ip(), true);
        comes_to(&socket, to, &gateways[0], version, || ());
        gateways[1].answers(to.ip(), true);
        let announcer = gateways[1].host.run(|| Announcer::open("eth")).unwrap();
        let announcements = announcer.unwrap().start().unwrap();
        announcements.announce(vec![to.ip()]);
        // The first gateway still answers: only the announcement shows that the address has moved.
        comes_to(&socket, to, &gateways[1], version, || ());
        while gateways[0].has_come(version) {}
        for _ in 0..20 {
            comes_to(&socket, to, &gateways[1], version, || ());
        }
        assert!(!gateways[0].has_come(version), "{to}");
        gateways[0].answers(to.ip(), false);
    }
}

/// A gateway that answers under a lease.
struct Leased {
    gateway: Gateway,
    device: TunDevice,
    undo: UndoLog,
    _folder: tempfile::TempDir,
}

impl Leased {
    fn create(lan: &Namespace) -> Self {
        let gateway = Gateway::create(lan, 1);
        let folder = tempfile::tempdir().unwrap();
        let begin = || {
            let mut device = TunDevice::open(&TunOptions::new("tunnel")).unwrap();
            let (mut undo, _) = UndoLog::open(folder.path(), "test").unwrap();
            undo.netlink().set_up("tunnel").unwrap();
            let lease = |addresses: &[&str]| Lease {
                instance: "test".into(),
                inner_link: "tunnel".into(),
                lan: "eth".into(),
                addresses: addresses.iter().copied().map(address).collect(),
            };
            undo.install_lease(&lease(&[])).unwrap();
            // A firewall that is loaded again may remove it.
            lease(&[]).table().remove().unwrap();
            undo.install_lease(&lease(&[])).unwrap();
            device.send(&mut renewal()).unwrap();
            // Another time with other addresses, as mobile hosts come and go.
            undo.install_lease(&lease(&ADDRESSES)).unwrap();
            (device, undo)
        };
        let (device, undo) = gateway.host.run(begin).unwrap();
        for text in ADDRESSES {
            gateway.answers(address(text), true);
        }
        Self {
            gateway,
            device,
            undo,
            _folder: folder,
        }
    }

    fn renew(&mut self) {
        self.device.send(&mut renewal()).unwrap();
    }

    /// Waits; returns true if a datagram comes meanwhile for one of the addresses, to which `sockets` send some.
    fn gets(&mut self, sockets: &[UdpSocket], renews: bool) -> bool {
        for _ in 0..5 {
            if renews {
                self.renew();
            }
            for (socket, text) in sockets.iter().zip(ADDRESSES) {
                let _ = socket.send_to(b"for whom", (address(text), 7));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        self.gateway.has_come(0) || self.gateway.has_come(1)
    }

    /// Checks that datagrams come for all addresses, while the lease is renewed.
    fn gets_all(&mut self, sockets: &[UdpSocket]) {
        for (version, (socket, text)) in sockets.iter().zip(ADDRESSES).enumerate() {
            let renew = || self.device.send(&mut renewal()).unwrap();
            let to = SocketAddr::new(address(text), 7);
            comes_to(socket, to, &self.gateway, version, renew);
        }
    }
}

/// Returns sockets of a host that has not asked for the addresses yet.
fn sockets(host: &Namespace) -> [UdpSocket; 2] {
    let sockets = ["0.0.0.0:0", "[::]:0"].map(|any| host.run(|| UdpSocket::bind(any)));
    sockets.map(|socket| socket.unwrap().unwrap())
}

/// A gateway whose daemon stands still answers no more, and one whose daemon goes on does again.
#[test]
fn answers_end_with_the_lease() {
    if !privileged() {
        return;
    }
    let lan = create_lan();
    let mut leased = Leased::create(&lan);
    std::thread::sleep(Duration::from(TERM) + Duration::from_millis(100));
    let sockets = sockets(&lan);
    assert!(!leased.gets(&sockets, false));
    leased.gets_all(&sockets);
    drop(leased.undo);
    let tables = leased.gateway.host.run(edges::nft::list_ruleset).unwrap();
    assert!(!tables.unwrap().contains("lasthop_test"));
}

/// A gateway that lives and is cut off from the others, and not from the LAN, does not answer beside the one that has
/// announced its addresses.
#[test]
fn who_announced_an_address_last_answers_for_it() {
    if !privileged() {
        return;
    }
    let lan = create_lan();
    let mut leased = Leased::create(&lan);
    let other = Gateway::create(&lan, 2);
    let announce = |gateway: &Gateway| {
        let announcer = gateway.host.run(|| Announcer::open("eth")).unwrap();
        let announcements = announcer.unwrap().start().unwrap();
        announcements.announce(ADDRESSES.map(address).into());
        announcements
    };
    // A link that is up for a short time has no address for IPv6 yet, and a bridge learns.
    std::thread::sleep(Duration::from_secs(2));
    let announcements = announce(&other);
    std::thread::sleep(Duration::from_millis(100));
    let sockets = sockets(&lan);
    assert!(!leased.gets(&sockets, true));
    drop(announcements);
    let _announcements = announce(&leased.gateway);
    leased.gets_all(&sockets);
}

#[test]
fn a_link_without_neighbours_is_refused() {
    if !privileged() {
        return;
    }
    let host = Namespace::create().unwrap();
    let device = host.run(|| TunDevice::open(&TunOptions::new("tunnel")));
    let _device = device.unwrap().unwrap();
    for (link, words) in [
        ("lan", "cannot find the link 'lan': there is none"),
        ("tunnel", "'tunnel' has no MAC address"),
    ] {
        let error = host.run(|| Announcer::open(link)).unwrap().unwrap_err();
        let error = error.to_string();
        assert!(error.contains(words), "{error}");
    }
}
