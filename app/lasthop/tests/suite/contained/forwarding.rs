//! A gateway forwards by rule: between the hop and the networks that its configuration names.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use edges::namespace::Namespace;

use crate::support::cell::{Cell, inside};
use crate::support::{
    Daemon, FIXED_HOST, GATEWAY_OUTSIDE, Hosts, able, carry, connect, fetch, ping,
};

const MOBILE: &str = "10.73.0.2";
/// How long a test waits for what must not come.
const SILENCE: Duration = Duration::from_secs(2);
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_mins(1);

/// The way of TCP across the hop.
const WAYS: [&str; 6] = [
    "tcp = \"plain\"",
    "tcp = \"snoop\"",
    "tcp = \"arq\"",
    "tcp = \"auto\"",
    "tcp = \"split\"\nsplit_transport = \"kernel-tcp\"",
    "tcp = \"split\"",
];

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Requests a connection to a server on `to` by one of its addresses, and accepts it there.
fn reach(from: &Namespace, to: &Namespace, by: IpAddr) -> io::Result<()> {
    reach_within(SILENCE, from, to, by)
}

/// As [`reach`], with the time to wait for an answer.
fn reach_within(
    patience: Duration,
    from: &Namespace,
    to: &Namespace,
    by: IpAddr,
) -> io::Result<()> {
    let listener = to.run(|| TcpListener::bind((by, 0)).unwrap()).unwrap();
    let there = SocketAddr::new(by, listener.local_addr().unwrap().port());
    let connect = || TcpStream::connect_timeout(&there, patience).map(drop);
    from.run(connect).unwrap()
}

#[track_caller]
fn fails(result: io::Result<()>, kinds: &[ErrorKind]) {
    let kind = result.expect_err("it was reached").kind();
    assert!(kinds.contains(&kind), "{kind:?}");
}

/// With NAT nobody begins a connection to a mobile host, and this host does not become a router for others.
#[test]
fn the_wired_side_only_answers() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    hosts.make_way_back();
    let via = GATEWAY_OUTSIDE.to_string();
    rig::route(&hosts.fixed, "10.1.0.0/24", &via).unwrap();
    let daemons = hosts.start_both();
    assert_eq!(fetch(&hosts, 1 << 20), GATEWAY_OUTSIDE);
    ping(&hosts.mobile, FIXED_HOST);
    let inner = reach(&hosts.fixed, &hosts.mobile, address(MOBILE));
    fails(inner, &[ErrorKind::TimedOut]);
    let outer = reach(&hosts.fixed, &hosts.mobile, address("10.1.0.2"));
    fails(outer, &[ErrorKind::TimedOut]);
    for daemon in daemons {
        assert!(daemon.terminate().success());
    }
    assert_eq!(hosts.traces(), before);
}

/// The same rule holds for packets, which are forwarded, and for connections that end at the gateway.
#[test]
fn what_is_not_named_is_out_of_reach() {
    if !able() {
        return;
    }
    for way in WAYS {
        let hosts = Hosts::create();
        hosts.configure_more("gateway", "public_key", way);
        hosts.configure_more("gateway", "[tun]", "networks = [\"203.0.113.0/24\"]");
        let _daemons = hosts.start_both();
        let result = reach_within(PATIENCE, &hosts.mobile, &hosts.fixed, FIXED_HOST);
        fails(
            result,
            &[ErrorKind::HostUnreachable, ErrorKind::PermissionDenied],
        );
        // The gateway itself is no other network.
        let own = address("10.73.0.1");
        reach_within(PATIENCE, &hosts.mobile, &hosts.gateway, own).unwrap();
    }
}

/// Without NAT hosts of the named networks begin connections, and no others do.
#[test]
fn without_nat_the_named_networks_begin_connections() {
    if !able() {
        return;
    }
    for (networks, is_reached) in [("198.51.100.0/24", true), ("203.0.113.0/24", false)] {
        let hosts = Hosts::create();
        hosts.without_nat();
        let line = format!("networks = [\"{networks}\"]");
        hosts.configure_more("gateway", "[tun]", &line);
        let _daemons = hosts.start_both();
        let patience = if is_reached { PATIENCE } else { SILENCE };
        let result = reach_within(patience, &hosts.fixed, &hosts.mobile, address(MOBILE));
        assert_eq!(result.is_ok(), is_reached, "{networks}: {result:?}");
    }
}

/// Starts the gateway and two mobile hosts, and waits until both are connected.
fn start(cell: &Cell) -> Vec<Daemon> {
    let daemons = (0..3).map(|host| cell.start(host)).collect();
    cell.wait_until("both are connected", || {
        let peers = cell.peers();
        let mut two = peers.iter().take(2);
        peers.len() > 1 && two.all(|peer| !peer["keys_age"].is_null())
    });
    daemons
}

#[test]
fn mobile_hosts_are_isolated_unless_allowed() {
    if !able() {
        return;
    }
    for isolate in [true, false] {
        for way in WAYS {
            let cell = Cell::create("");
            cell.reconfigure("isolate = false", &format!("isolate = {isolate}"));
            cell.reconfigure("[[peers]]", &format!("[[peers]]\n{way}"));
            let _daemons = start(&cell);
            if isolate {
                let result = reach_within(PATIENCE, &cell.hosts[1], &cell.hosts[2], inside(2));
                fails(result, &[ErrorKind::ConnectionRefused]);
            } else {
                let (from, to) = connect(&cell.hosts[1], &cell.hosts[2], inside(2)).unwrap();
                carry(from, to, 10_000);
            }
        }
    }
}

/// A request that crosses one hop as a packet is not split on its way to the other.
#[test]
fn mobile_hosts_with_different_ways_reach_each_other() {
    if !able() {
        return;
    }
    for ways in [["arq", "split"], ["snoop", "auto"], ["split", "auto"]] {
        let cell = Cell::create("");
        for (number, way) in [1, 2].into_iter().zip(ways) {
            let name = format!("name = \"mobile{number}\"");
            cell.reconfigure(&name, &format!("{name}\ntcp = \"{way}\""));
        }
        let _daemons = start(&cell);
        for (from, to) in [(1, 2), (2, 1)] {
            let connected = connect(&cell.hosts[from], &cell.hosts[to], inside(to));
            let (from, to) = connected.unwrap_or_else(|error| panic!("{ways:?}: {error}"));
            // So much that the sender waits for acknowledgements.
            carry(from, to, 300_000);
        }
    }
}
