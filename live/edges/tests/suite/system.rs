//! Links, routes, address translation and their undoing, in network namespaces that the tests create.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::Command;

use edges::namespace::{Namespace, NamespaceError};
use edges::nat::Masquerade;
use edges::netlink::{IpVersion, MAIN_TABLE, Netlink, NetlinkError, Route, RouteKind, Rule};
use edges::sysctl::{self, SysctlError};
use edges::undo::UndoLog;

use crate::support::{Pair, address, net, privileged};

#[test]
fn a_tcp_connection_crosses_a_veth_pair_between_namespaces() {
    if !privileged() {
        return;
    }
    for (left, right) in [("10.1.0.1/24", "10.1.0.2/24"), ("fd01::1/64", "fd01::2/64")] {
        let pair = Pair::create(net(left), net(right));
        let server = net(right).addr();
        let listener = pair
            .right
            .run(|| TcpListener::bind((server, 0)).unwrap())
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        // Sockets keep their namespace, wherever they are used.
        let echo = std::thread::spawn(move || {
            let (mut stream, peer) = listener.accept().unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            stream.write_all(text.to_uppercase().as_bytes()).unwrap();
            peer.ip()
        });
        let mut stream = pair
            .left
            .run(|| TcpStream::connect((server, port)).unwrap())
            .unwrap();
        stream.write_all(b"across").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "ACROSS");
        assert_eq!(echo.join().unwrap(), net(left).addr());
    }
}

#[test]
fn links_are_made_changed_and_deleted() {
    if !privileged() {
        return;
    }
    Namespace::create()
        .unwrap()
        .run(|| {
            let mut netlink = Netlink::open().unwrap();
            netlink.create_veth("one", "two").unwrap();
            netlink.rename_link("two", "second").unwrap();
            netlink.set_mtu("second", 1400).unwrap();
            netlink.set_transmit_queue_length("second", 77).unwrap();
            netlink.set_up("second").unwrap();
            let link = netlink.link("second").unwrap();
            assert_eq!(
                (link.mtu, link.transmit_queue_length, link.up),
                (1400, 77, true)
            );
            assert_eq!(
                (link.kind.as_deref(), link.hardware_address.len()),
                (Some("veth"), 6)
            );
            netlink.set_down("second").unwrap();
            assert!(!netlink.link("second").unwrap().up);
            netlink.delete_link("one").unwrap();
            let names: Vec<_> = netlink
                .links()
                .unwrap()
                .into_iter()
                .map(|link| link.name)
                .collect();
            assert_eq!(names, ["lo"]);
        })
        .unwrap();
}

#[test]
fn routes_carry_their_metrics_and_lead_packets() {
    if !privileged() {
        return;
    }
    let pair = Pair::create(net("10.1.0.1/24"), net("10.1.0.2/24"));
    pair.left
        .run(|| {
            let mut netlink = Netlink::open().unwrap();
            let default = Route {
                mtu: Some(1300),
                advertised_segment_size: Some(1200),
                congestion_control: Some("reno".into()),
                ..Route::to(net("0.0.0.0/0"))
                    .via(address("10.1.0.2"))
                    .through("near")
                    .with_metric(50)
            };
            netlink.add_route(&default).unwrap();
            assert!(netlink.add_route(&default).unwrap_err().is_existing());
            assert!(netlink.routes(MAIN_TABLE).unwrap().contains(&default));

            let pinned = netlink.route_to(address("192.0.2.9")).unwrap();
            assert_eq!(pinned.destination, net("192.0.2.9/32"));
            assert_eq!(pinned.gateway, Some(address("10.1.0.2")));
            assert_eq!(pinned.link.as_deref(), Some("near"));
            netlink.add_route(&pinned).unwrap();
            netlink.remove_route(&default).unwrap();
            assert!(netlink.route_to(address("198.51.100.1")).is_err());
            assert_eq!(netlink.route_to(address("192.0.2.9")).unwrap(), pinned);

            let replaced = Route {
                mtu: Some(1280),
                ..pinned.clone()
            };
            netlink.replace_route(&replaced).unwrap();
            assert!(netlink.routes(MAIN_TABLE).unwrap().contains(&replaced));
            netlink.remove_route(&replaced).unwrap();
            assert!(netlink.remove_route(&replaced).unwrap_err().is_missing());
        })
        .unwrap();
}

#[test]
fn rules_and_local_routes_of_high_tables_are_kept() {
    if !privileged() {
        return;
    }
    Namespace::create()
        .unwrap()
        .run(|| {
            let mut netlink = Netlink::open().unwrap();
            let local = Route {
                kind: RouteKind::Local,
                ..Route::to(net("0.0.0.0/0")).through("lo").in_table(51_820)
            };
            netlink.add_route(&local).unwrap();
            assert_eq!(
                netlink.routes(51_820).unwrap(),
                std::slice::from_ref(&local)
            );
            for version in [IpVersion::V4, IpVersion::V6] {
                let from = (version == IpVersion::V4).then(|| net("10.9.0.0/16"));
                let rule = Rule {
                    priority: Some(100),
                    mark: Some(0x6c68),
                    from,
                    inverted: true,
                    ..Rule::to_table(version, 51_820)
                };
                netlink.add_rule(&rule).unwrap();
                assert!(netlink.add_rule(&rule).unwrap_err().is_existing());
                let main = Rule {
                    priority: Some(99),
                    suppressed_prefix_length: Some(0),
                    ..Rule::to_table(version, MAIN_TABLE)
                };
                netlink.add_rule(&main).unwrap();
                let rules = netlink.rules().unwrap();
                assert!(rules.contains(&rule) && rules.contains(&main), "{rules:?}");
                netlink.remove_rule(&rule).unwrap();
                assert!(netlink.remove_rule(&rule).unwrap_err().is_missing());
            }
        })
        .unwrap();
}

#[test]
fn refusals_name_the_object_and_the_reason() {
    if !privileged() {
        return;
    }
    Namespace::create()
        .unwrap()
        .run(|| {
            let mut netlink = Netlink::open().unwrap();
            let missing = netlink.set_up("absent").unwrap_err();
            assert!(
                missing.is_missing() && missing.to_string().contains("'absent'"),
                "{missing}"
            );
            netlink.create_veth("one", "two").unwrap();
            let existing = netlink.create_veth("one", "three").unwrap_err();
            assert!(
                existing.is_existing() && existing.to_string().contains("'one'"),
                "{existing}"
            );
            let long = netlink.create_veth("sixteen-letters!", "x").unwrap_err();
            assert!(matches!(long, NetlinkError::InvalidName(_)), "{long}");
            let unreachable = Route::to(net("10.0.0.0/8")).via(address("192.0.2.1"));
            let refused = netlink.add_route(&unreachable).unwrap_err().to_string();
            assert!(
                refused.contains("10.0.0.0/8 via 192.0.2.1") && refused.contains("gateway"),
                "{refused}"
            );
            assert!(matches!(
                sysctl::set("net/ipv4/absent", "1"),
                Err(SysctlError::Missing(_))
            ));
            assert!(matches!(
                sysctl::set("net/../../../etc/passwd", "1"),
                Err(SysctlError::InvalidName(_))
            ));
        })
        .unwrap();
    assert!(matches!(
        Namespace::open_named("lasthop-absent"),
        Err(NamespaceError::Unknown(_))
    ));
    assert!(matches!(
        Namespace::open_named("../net"),
        Err(NamespaceError::InvalidName(_))
    ));
}

#[test]
fn threads_and_children_start_inside_the_namespace() {
    if !privileged() {
        return;
    }
    let namespace = Namespace::create().unwrap();
    assert!(!namespace.is_current().unwrap());
    let inside = namespace.run(|| {
        let grandchild = std::thread::spawn(|| Namespace::current().unwrap().id());
        (
            Namespace::current().unwrap().id(),
            grandchild.join().unwrap(),
        )
    });
    assert_eq!(inside.unwrap(), (namespace.id(), namespace.id()));
    let mut command = Command::new("readlink");
    command
        .arg("/proc/self/ns/net")
        .stdout(std::process::Stdio::piped());
    let output = namespace
        .spawn(command)
        .unwrap()
        .wait_with_output()
        .unwrap();
    let expected = format!("net:[{}]\n", namespace.id().inode);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn address_translation_hides_the_mobiles_and_goes_with_the_log() {
    if !privileged() || !crate::support::has_program("nft") {
        return;
    }
    let inner = Pair::create(net("10.7.0.2/24"), net("10.7.0.1/24"));
    let gateway = &inner.right;
    let outer = Namespace::create().unwrap();
    gateway
        .run(|| crate::support::connect(&outer, net("192.0.2.1/24"), net("192.0.2.9/24")))
        .unwrap();
    inner
        .left
        .run(|| {
            let default = Route::to(net("0.0.0.0/0")).via(address("10.7.0.1"));
            Netlink::open().unwrap().add_route(&default).unwrap();
        })
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = gateway
        .run(|| {
            let (mut log, _) = UndoLog::open(folder.path(), "nat").unwrap();
            log.set_sysctl("net/ipv4/ip_forward", "1").unwrap();
            let masquerade = Masquerade {
                instance: "test".into(),
                inner_link: "far".into(),
                ipv4: vec!["10.7.0.0/24".parse().unwrap()],
                ipv6: vec!["fd07::/64".parse().unwrap()],
            };
            log.install_nat(&masquerade).unwrap();
            masquerade.install().unwrap();
            log
        })
        .unwrap();
    assert_eq!(seen_source(&inner.left, &outer), address("192.0.2.1"));
    let tables = || {
        let mut command = Command::new("nft");
        command
            .args(["list", "tables"])
            .stdout(std::process::Stdio::piped());
        let output = gateway.spawn(command).unwrap().wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(tables().contains("lasthop_test"));
    // Undo in a thread in another namespace.
    log.undo().unwrap();
    assert!(!tables().contains("lasthop_test"));
    assert_eq!(
        gateway
            .run(|| sysctl::read("net/ipv4/ip_forward").unwrap())
            .unwrap(),
        "0"
    );
}

/// Returns the address of a client in `mobile` as a server in `outer` sees it.
fn seen_source(mobile: &Namespace, outer: &Namespace) -> IpAddr {
    let listener = outer
        .run(|| TcpListener::bind("192.0.2.9:0").unwrap())
        .unwrap();
    let server = listener.local_addr().unwrap();
    let _client = mobile.run(|| TcpStream::connect(server).unwrap()).unwrap();
    listener.accept().unwrap().1.ip()
}
