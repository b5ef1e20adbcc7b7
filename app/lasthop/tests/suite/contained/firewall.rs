//! A mobile host's firewall decides about connections from the hop, whichever way they cross it.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{FIXED_HOST, Hosts, able, carry, connect};

const MOBILE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 73, 0, 2));
const WAYS: [&str; 4] = [
    "tcp = \"arq\"",
    "tcp = \"split\"\nsplit_transport = \"kernel-tcp\"",
    "tcp = \"split\"\nsplit_transport = \"mtcp\"",
    "tcp = \"split\"",
];
/// A port that is open, and one that is not, by the rules below.
const OPEN: u16 = 8_080;
const SHUT: u16 = 8_081;

/// A firewall: its rules, and the results for [`OPEN`] and [`SHUT`].
struct Firewall {
    rules: &'static str,
    results: [&'static str; 2],
}

const FIREWALLS: [Firewall; 6] = [
    Firewall {
        rules: "type filter hook input priority filter; policy accept",
        results: ["open", "open"],
    },
    // By port; the loopback interface is open, as usual.
    Firewall {
        rules: "type filter hook input priority filter; policy drop; iif lo accept; ip protocol udp accept; \
                tcp dport 8080 accept; ct state established accept",
        results: ["open", "silent"],
    },
    // By interface and by the address of the sender.
    Firewall {
        rules: "type filter hook input priority filter; policy accept; \
                iifname \"lasthop0\" ip saddr 198.51.100.0/24 tcp dport 8081 drop",
        results: ["open", "silent"],
    },
    // Nothing is allowed that is not named, not even the loopback interface.
    Firewall {
        rules: "type filter hook input priority filter; policy drop; ip protocol udp accept; \
                iifname \"lasthop0\" tcp dport 8080 accept",
        results: ["open", "silent"],
    },
    // As firewalld installs them: zones behind the state of connections, and a refusal at the end.
    Firewall {
        rules: "type filter hook input priority 10; policy accept; ct state { established, related } accept; \
                ct status dnat accept; iifname \"lo\" accept; ct state invalid drop; \
                udp dport 1-65535 accept; tcp dport 8080 ct state { new, untracked } accept; \
                reject with icmpx admin-prohibited",
        results: ["open", "refused"],
    },
    // What comes in is refused as if nobody listened.
    Firewall {
        rules: "type filter hook input priority filter; policy accept; ct state established accept; \
                iifname \"lasthop0\" tcp dport 8081 reject with tcp reset",
        results: ["open", "refused"],
    },
];

fn install(hosts: &Hosts, rules: &str) {
    let fresh = "table inet wall {}\ndelete table inet wall\n";
    let ruleset = format!("{fresh}table inet wall {{ chain input {{ {rules}; }}; }}\n");
    let run = || {
        let mut nft = Command::new("nft");
        let mut nft = nft.args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        nft.stdin
            .take()
            .unwrap()
            .write_all(ruleset.as_bytes())
            .unwrap();
        assert!(nft.wait().unwrap().success(), "{ruleset}");
    };
    hosts.mobile.run(run).unwrap();
}

/// What a fixed host gets from a port of the mobile host: a server's greeting, a refusal, or nothing.
fn result(hosts: &Hosts, port: u16) -> &'static str {
    let listen = || TcpListener::bind((MOBILE, port)).unwrap();
    let listener = hosts.mobile.run(listen).unwrap();
    listener.set_nonblocking(true).unwrap();
    let there = SocketAddr::new(MOBILE, port);
    let ask = || TcpStream::connect_timeout(&there, Duration::from_secs(3));
    let connected = hosts.fixed.run(ask).unwrap();
    let result = match connected {
        Ok(mut stream) => {
            let (mut server, from) = loop {
                match listener.accept() {
                    Ok(accepted) => break accepted,
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            };
            assert_eq!(from.ip(), FIXED_HOST);
            server.set_nonblocking(false).unwrap();
            server.write_all(b"welcome").unwrap();
            drop(server);
            let mut greeting = String::new();
            stream.read_to_string(&mut greeting).unwrap();
            assert_eq!(greeting, "welcome");
            return "open";
        }
        Err(error) if error.kind() == std::io::ErrorKind::TimedOut => "silent",
        Err(_) => "refused",
    };
    assert!(listener.accept().is_err(), "the server has seen it");
    result
}

#[test]
fn a_connection_by_stream_passes_the_firewall_as_its_packets_would() {
    if !able() {
        return;
    }
    for way in WAYS {
        let hosts = Hosts::create();
        hosts.configure_more("gateway", "public_key", way);
        hosts.without_nat();
        let _daemons = hosts.start_both();
        if way.contains("split") && !way.contains("kernel") {
            hosts.wait_until("the mobile host splits", || {
                format!("{:?}", hosts.traces()).contains("lasthop_mobile_split")
            });
        }
        for firewall in &FIREWALLS {
            install(&hosts, firewall.rules);
            let results = [OPEN, SHUT].map(|port| result(&hosts, port));
            assert_eq!(
                results,
                firewall.results,
                "{way}: {}\n{}",
                firewall.rules,
                hosts.logs()
            );
        }
    }
}

/// Both directions, half-closed connections and resets work as with a socket of the kernel.
#[test]
fn much_data_crosses_both_ways_behind_a_firewall() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    hosts.configure_more("gateway", "public_key", "tcp = \"split\"");
    hosts.without_nat();
    let _daemons = hosts.start_both();
    hosts.wait_until("the mobile host splits", || {
        format!("{:?}", hosts.traces()).contains("lasthop_mobile_split")
    });
    install(&hosts, FIREWALLS[3].rules);
    let rules = "type filter hook input priority filter; policy drop; ip protocol udp accept; \
                 iifname \"lasthop0\" accept";
    install(&hosts, rules);
    for round in 0..4 {
        let (fixed, mobile) = connect(&hosts.fixed, &hosts.mobile, MOBILE).unwrap();
        if round % 2 == 0 {
            carry(mobile, fixed, 5_000_000);
        } else {
            carry(fixed, mobile, 5_000_000);
        }
    }
    let (fixed, mut mobile) = connect(&hosts.fixed, &hosts.mobile, MOBILE).unwrap();
    let fixed = socket2::Socket::from(fixed);
    fixed.set_linger(Some(Duration::ZERO)).unwrap();
    drop(fixed);
    let error = mobile.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    hosts.wait_until("nothing of it stays", || {
        hosts.status("mobile")["split"]["open"] == 0
    });
}
