//! What leaves a mobile host beside the hop: nothing of an IP version without inner addresses; while the hop is down,
//! what `fallback` says; and what is for the local network.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;

use edges::netlink::Netlink;
use rig::End;

use crate::support::{GATEWAY_OUTSIDE, Hosts, PROGRAM, able, connect, fetch};

/// The gateway's host in the local network of the mobile host, and the mobile host itself.
const NEIGHBOUR: [&str; 2] = ["10.1.0.1", "2001:db8:1::1"];
const OUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 2));
/// The gateway's host as the rest of the world sees it.
const FAR: [&str; 2] = ["198.51.100.1", "2001:db8:2::1"];
const INNER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 73, 0, 2));

/// Hosts whose local network has both IP versions, with a router for each.
fn dual_stack() -> Hosts {
    let hosts = Hosts::create();
    for (host, link, address) in [
        (&hosts.gateway, "air", "2001:db8:1::1/64"),
        (&hosts.gateway, "wire", "2001:db8:2::1/64"),
        (&hosts.mobile, "air", "2001:db8:1::2/64"),
    ] {
        rig::set_up(End::new(host, link, address)).unwrap();
    }
    rig::route(&hosts.mobile, "::/0", NEIGHBOUR[1]).unwrap();
    hosts
}

/// Returns the source address of a new connection from the mobile host to an address of the gateway's host, or its
/// error.
fn reach(hosts: &Hosts, address: &str) -> Result<IpAddr, ErrorKind> {
    let connected = connect(&hosts.mobile, &hosts.gateway, address.parse().unwrap());
    let (client, _) = connected.map_err(|error| error.kind())?;
    Ok(client.local_addr().unwrap().ip())
}

/// Returns true if the mobile host has the rule that leads all new flows around the hop.
fn leads_around(hosts: &Hosts) -> bool {
    let rules = || Netlink::open().unwrap().rules().unwrap();
    let rules = hosts.mobile.run(rules).unwrap();
    rules.iter().any(|rule| rule.priority == Some(32_699))
}

fn is_inner(address: IpAddr) -> bool {
    address == INNER || address == "fd73::2".parse::<IpAddr>().unwrap()
}

#[test]
fn an_ip_version_without_inner_addresses_does_not_leave_beside_the_hop() {
    if !able() {
        return;
    }
    for (kept, inside, outside) in [("10.73.0.2/24", 0, 1), ("fd73::2/64", 1, 0)] {
        let hosts = dual_stack();
        let file = hosts.folder.path().join("mobile.toml");
        let config = fs::read_to_string(&file).unwrap();
        let both = "[\"10.73.0.2/24\", \"fd73::2/64\"]";
        fs::write(&file, config.replace(both, &format!("[\"{kept}\"]"))).unwrap();
        let before = hosts.traces();
        assert!(reach(&hosts, FAR[outside]).is_ok());
        let daemons = hosts.start_both();
        assert!(is_inner(reach(&hosts, FAR[inside]).unwrap()), "{kept}");
        // An error at once, so that applications go on with the other version.
        assert_eq!(reach(&hosts, FAR[outside]), Err(ErrorKind::HostUnreachable));
        for neighbour in NEIGHBOUR {
            assert!(!is_inner(reach(&hosts, neighbour).unwrap()), "{neighbour}");
        }
        for daemon in daemons {
            assert!(daemon.terminate().success(), "{}", hosts.logs());
        }
        assert_eq!(hosts.traces(), before);
        assert!(reach(&hosts, FAR[outside]).is_ok());
    }
}

/// The local network stays usable throughout.
#[test]
fn a_block_stands_while_the_daemon_is_dead_or_restarted() {
    if !able() {
        return;
    }
    let hosts = dual_stack();
    let before = hosts.traces();
    hosts.configure_more("mobile", "[gateway]", "fallback = \"block\"");
    let is_blocked = || {
        let refusals = FAR.map(|address| reach(&hosts, address));
        let neighbours = NEIGHBOUR.map(|address| reach(&hosts, address).is_ok());
        assert_eq!(neighbours, [true; 2]);
        refusals == [Err(ErrorKind::HostUnreachable); 2]
    };
    let has_link = || {
        let links = hosts
            .mobile
            .run(|| Netlink::open().unwrap().links().unwrap());
        links.unwrap().iter().any(|link| link.name == "lasthop0")
    };
    // Without a gateway there is nothing but silence: no other way is taken.
    let first = hosts.start_until_ready("mobile");
    let timeout = std::time::Duration::from_millis(300);
    let far = SocketAddr::new(GATEWAY_OUTSIDE, 9);
    let silent = hosts
        .mobile
        .run(|| TcpStream::connect_timeout(&far, timeout));
    assert_eq!(silent.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    first.kill();
    hosts.wait_until("its link is gone", || !has_link());
    assert!(is_blocked());
    let gateway = hosts.start("gateway");
    let second = hosts.start("mobile");
    hosts.wait_until_connected();
    assert!(is_inner(reach(&hosts, FAR[0]).unwrap()));
    assert!(hosts.log("mobile").contains("(fallback = \"block\")"));
    assert!(second.terminate().success());
    assert!(is_blocked());
    // Another choice lifts it, and so does the command.
    let config = hosts.folder.path().join("mobile.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("\"block\"", "\"direct\"")).unwrap();
    assert!(hosts.start_until_ready("mobile").terminate().success());
    assert!(!is_inner(reach(&hosts, FAR[0]).unwrap()));
    fs::write(&config, text).unwrap();
    assert!(hosts.start_until_ready("mobile").terminate().success());
    assert!(is_blocked());
    let state = hosts.folder.path().join("state");
    let mut clean = Command::new(PROGRAM);
    clean.args(["clean", "--state-dir"]).arg(&state);
    let cleaned = hosts.mobile.run(|| clean.output().unwrap()).unwrap();
    assert!(cleaned.status.success(), "{cleaned:?}");
    assert!(!is_inner(reach(&hosts, FAR[0]).unwrap()));
    assert!(gateway.terminate().success());
    assert_eq!(hosts.traces(), before);
}

/// Sends a byte each way.
pub(crate) fn goes_on(client: &TcpStream, server: &TcpStream) {
    for (mut from, mut to) in [(client, server), (server, client)] {
        from.write_all(b"x").unwrap();
        assert_eq!(to.read(&mut [0; 8]).unwrap(), 1);
    }
}

#[test]
fn new_flows_go_around_a_dead_hop_and_each_flow_stays_on_its_way() {
    if !able() {
        return;
    }
    let hosts = dual_stack();
    let before = hosts.traces();
    let [gateway, mobile] = hosts.start_both();
    let begin = || connect(&hosts.mobile, &hosts.gateway, GATEWAY_OUTSIDE).unwrap();
    let source = |flow: &(TcpStream, TcpStream)| flow.0.local_addr().unwrap().ip();
    let across = begin();
    assert_eq!(source(&across), INNER);
    assert!(gateway.terminate().success());
    let said = |words: &'static str| move |hosts: &Hosts| hosts.log("mobile").contains(words);
    let is_around = said("new flows go around the hop");
    hosts.wait_until("flows go around the hop", || is_around(&hosts));
    hosts.wait_until("the rules are set", || leads_around(&hosts));
    assert_eq!(reach(&hosts, FAR[0]), Ok(OUTER));
    assert!(!is_inner(reach(&hosts, FAR[1]).unwrap()));
    assert!(!hosts.status("mobile")["host"]["around_for"].is_null());
    let around = begin();
    let gateway = hosts.start("gateway");
    let is_across = said("new flows cross the hop");
    hosts.wait_until("flows cross the hop again", || is_across(&hosts));
    hosts.wait_until("the rules are gone", || !leads_around(&hosts));
    assert_eq!(reach(&hosts, FAR[0]), Ok(INNER));
    // Flows that began before, and meanwhile, go on.
    goes_on(&across.0, &across.1);
    goes_on(&around.0, &around.1);
    assert_eq!(source(&around), OUTER);
    assert_eq!(fetch(&hosts, 1 << 16), GATEWAY_OUTSIDE);
    assert!(
        hosts
            .log("mobile")
            .contains("(fallback = \"direct\", the default)")
    );
    assert!(mobile.terminate().success());
    assert!(gateway.terminate().success());
    assert_eq!(hosts.traces(), before);
}
