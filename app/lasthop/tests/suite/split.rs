//! `tcp = "split"` over a lossy emulated hop, which the kernel's own TCP crosses, or MTCP.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::thread;

use edges::namespace::Namespace;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::support::{
    Daemon, FIXED_HOST, GATEWAY_OUTSIDE, Hosts, LONG, LOSSY_LINK, able, carry, connect, connect_to,
    fetch, fetch_between,
};

const MOBILE: &str = "10.73.0.2";
/// Nobody has it.
const NOBODY: &str = "198.51.100.77";

/// What carries streams across the hop.
const TRANSPORTS: [&str; 3] = ["kernel-tcp", "mtcp", "mtcp-wide"];

/// Runs `test` with each transport, where that is possible.
fn each(test: impl Fn(&str)) {
    if able() {
        TRANSPORTS.into_iter().for_each(test);
    }
}

fn split_by(transport: &str) -> String {
    format!("tcp = \"split\"\nsplit_transport = \"{transport}\"")
}

/// The hosts, connected over such a link, with these lines for the mobile host in the gateway's configuration.
fn started(link: &str, nat: bool, lines: &str) -> (Hosts, [Daemon; 2]) {
    let hosts = Hosts::over_air(link);
    hosts.configure_more("gateway", "public_key", lines);
    if !nat {
        hosts.without_nat();
    }
    let daemons = hosts.start_both();
    (hosts, daemons)
}

/// The hosts, connected, with TCP split.
fn connected(nat: bool, transport: &str) -> (Hosts, [Daemon; 2]) {
    let (hosts, daemons) = started(LOSSY_LINK, nat, &split_by(transport));
    hosts.wait_until("the ends agree", || {
        hosts.peer("gateway")["hop"]["tcp"]["method"] == "plain"
            && (transport == "kernel-tcp" || diverts(&hosts, "mobile"))
    });
    (hosts, daemons)
}

/// Whether a host leads connections to its daemon.
fn diverts(hosts: &Hosts, name: &str) -> bool {
    format!("{:?}", hosts.traces()).contains(&format!("lasthop_{name}_split"))
}

fn split(hosts: &Hosts) -> Value {
    hosts.status("gateway")["split"].take()
}

/// A port of a host at which nobody listens; it stays so as long as the socket.
fn closed(host: &Namespace, address: IpAddr) -> (Socket, SocketAddr) {
    let open = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let socket = host.run(open).unwrap();
    socket.bind(&SocketAddr::new(address, 0).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// Both ends of a connection that the mobile host asks for.
fn pair(hosts: &Hosts) -> (TcpStream, TcpStream) {
    connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap()
}

/// A live run of both daemons, replayed in each at its end, does the same again to the last output.
#[test]
fn a_recorded_run_replays_to_the_same_outputs() {
    each(|transport| {
        let hosts = Hosts::over_air(LOSSY_LINK);
        hosts.configure_more("gateway", "public_key", &split_by(transport));
        let recorded = |part| hosts.start_with(part, &[("LASTHOP_REPLAY", "1")]);
        let daemons = [recorded("gateway"), recorded("mobile")];
        hosts.wait_until_connected();
        hosts.wait_until("the ends agree", || {
            transport == "kernel-tcp" || diverts(&hosts, "mobile")
        });
        fetch(&hosts, 1 << 20);
        let joined = split(&hosts)["joined"].clone();
        assert_eq!(joined, 1, "{transport}");
        for daemon in daemons {
            assert!(daemon.terminate().success(), "{}", hosts.logs());
        }
        let replayed = |part: &str| hosts.log(part).contains("replayed with the same");
        assert!(
            replayed("gateway") && replayed("mobile"),
            "{}",
            hosts.logs()
        );
    });
}

#[test]
fn files_arrive_whole_and_the_fixed_host_sees_who_it_is_configured_to_see() {
    each(|transport| {
        for (nat, seen) in [
            (true, GATEWAY_OUTSIDE),
            (false, MOBILE.parse::<IpAddr>().unwrap()),
        ] {
            let (hosts, daemons) = connected(nat, transport);
            assert_eq!(fetch(&hosts, 2 << 20), seen);
            assert_eq!(fetch(&hosts, 0), seen);
            hosts.wait_until("both connections end", || split(&hosts)["finished"] == 2);
            let told = split(&hosts);
            assert_eq!(
                (&told["joined"], &told["open"]),
                (&2.into(), &0.into()),
                "{told}"
            );
            assert_eq!(told["bytes_to_mobiles"], 2 << 20, "{told}");
            drop(daemons);
        }
    });
}

#[test]
fn nothing_of_it_stays_in_the_system() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    hosts.configure_more("gateway", "public_key", &split_by("mtcp-wide"));
    let daemons = hosts.start_both();
    hosts.wait_until("both take connections in", || {
        diverts(&hosts, "gateway") && diverts(&hosts, "mobile")
    });
    for daemon in daemons {
        assert!(daemon.terminate().success());
    }
    assert_eq!(hosts.traces(), before);
}

#[test]
fn one_side_may_finish_before_the_other() {
    each(|transport| {
        let (hosts, _daemons) = connected(true, transport);
        let (mut mobile, mut fixed) = pair(&hosts);
        mobile.write_all(b"a question").unwrap();
        mobile.shutdown(Shutdown::Write).unwrap();
        let mut question = String::new();
        fixed.read_to_string(&mut question).unwrap();
        assert_eq!(question, "a question");
        fixed.write_all(b"an answer").unwrap();
        drop(fixed);
        let mut answer = String::new();
        mobile.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "an answer");
    });
}

/// A reset is passed on, whoever it comes from.
#[test]
fn what_is_reset_on_one_side_is_reset_on_the_other() {
    each(|transport| {
        let (hosts, _daemons) = connected(true, transport);
        for mobile_resets in [false, true] {
            let (mobile, fixed) = pair(&hosts);
            let (resets, mut hears) = if mobile_resets {
                (mobile, fixed)
            } else {
                (fixed, mobile)
            };
            let resets = Socket::from(resets);
            resets.set_linger(Some(std::time::Duration::ZERO)).unwrap();
            drop(resets);
            let error = hears.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
        assert_eq!(split(&hosts)["reset"], 2);
    });
}

/// Who asks is answered only once the fixed host has answered.
#[test]
fn what_the_fixed_host_refuses_is_refused_with_its_reason() {
    each(|transport| {
        for nat in [true, false] {
            let (hosts, _daemons) = connected(nat, transport);
            // What is asked three times where nobody is, a second apart, is as true when it is asked sooner.
            let interval = "net/ipv4/neigh/wire/retrans_time_ms";
            rig::set(&hosts.gateway, interval, "100").unwrap();
            let refused = |address: SocketAddr| {
                let connect = || TcpStream::connect_timeout(&address, LONG);
                hosts.mobile.run(connect).unwrap().unwrap_err().kind()
            };
            let (_closed, address) = closed(&hosts.fixed, FIXED_HOST);
            assert_eq!(refused(address), ErrorKind::ConnectionRefused);
            let nobody = SocketAddr::new(NOBODY.parse().unwrap(), 80);
            assert_eq!(refused(nobody), ErrorKind::HostUnreachable);
            // A SYN that the kernel repeats just before the answer comes asks once more.
            hosts.wait_until("all are answered", || split(&hosts)["open"] == 0);
            let told = split(&hosts);
            assert_eq!(told["joined"], 0, "{told}");
            assert_eq!(told["refused"], told["asked"], "{told}");
            assert!(told["refused"].as_u64() >= Some(2), "{told}");
        }
    });
}

/// Servers on the mobile host are reached as ever, and see who asks.
#[test]
fn fixed_hosts_reach_servers_on_the_mobile_host() {
    each(|transport| {
        let (hosts, _daemons) = connected(false, transport);
        let inside = MOBILE.parse().unwrap();
        let (fixed, mobile) = connect(&hosts.fixed, &hosts.mobile, inside).unwrap();
        assert_eq!(mobile.peer_addr().unwrap().ip(), FIXED_HOST);
        carry(mobile, fixed, 500_000);
        let told = split(&hosts);
        assert_eq!(
            (&told["joined"], &told["bytes_to_fixed"]),
            (&1.into(), &500_000.into()),
            "{told}"
        );
        let (_closed, address) = closed(&hosts.mobile, inside);
        let ask = || TcpStream::connect_timeout(&address, LONG);
        let refused = hosts.fixed.run(ask).unwrap().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

/// Returns the port of the daemon's own listener at a host, to which its rules divert connections.
fn diverted_to(host: &Namespace) -> Option<u16> {
    let list = || {
        let mut command = Command::new("nft");
        command.args(["list", "ruleset"]).output().unwrap()
    };
    let rules = String::from_utf8(host.run(list).unwrap().stdout).unwrap();
    let (_, after) = rules.split_once("tproxy ip to :")?;
    after.split_whitespace().next()?.parse().ok()
}

/// A server may have the port of the daemon's own listener at its gateway, or at a mobile host that it serves.
#[test]
fn servers_may_have_the_ports_of_the_daemons_listeners() {
    each(|transport| {
        let (hosts, _daemons) = connected(false, transport);
        let of_gateway = diverted_to(&hosts.gateway).expect("a listener");
        let inside = (
            &hosts.fixed,
            &hosts.mobile,
            MOBILE.parse().unwrap(),
            of_gateway,
        );
        let outside = [Some(of_gateway), diverted_to(&hosts.mobile)];
        let outside = outside.into_iter().flatten();
        let outside = outside.map(|port| (&hosts.mobile, &hosts.fixed, FIXED_HOST, port));
        for (count, (client, server, address, port)) in outside.chain([inside]).enumerate() {
            let connected = connect_to(client, server, SocketAddr::new(address, port));
            let (client, server) =
                connected.unwrap_or_else(|error| panic!("{transport}: {error}\n{}", hosts.logs()));
            carry(server, client, 100_000);
            assert_eq!(split(&hosts)["joined"], count + 1);
        }
    });
}

/// A gateway that is killed takes its connections with it, and none of them looks as if it had come to its end.
#[test]
fn no_stream_ends_short_when_the_gateway_is_killed() {
    each(|transport| {
        for _ in 0..3 {
            let (hosts, [gateway, _mobile]) = connected(true, transport);
            let (mut mobile, mut fixed) = pair(&hosts);
            let writer = thread::spawn(move || {
                let chunk = vec![7; 65_536];
                while mobile.write_all(&chunk).is_ok() {}
            });
            let mut content = vec![0; 300_000];
            fixed.read_exact(&mut content).unwrap();
            gateway.kill();
            // What is read to its end has come to a clean one; interruptions are none.
            let end = fixed.read_to_end(&mut content);
            let error = end.expect_err("a clean end");
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            // The mobile host's end hears nothing more across the hop, until its host is gone.
            drop((hosts, writer));
        }
    });
}

/// A mobile host's daemon that is killed leaves no socket behind a connection that a fixed host began. Its application
/// only waits, perhaps after it has ended its own direction, and learns of the end when the daemon runs again, even if
/// the fixed host has closed its socket; connections whose packets cross the hop go on.
#[test]
fn a_restarted_mobile_host_ends_only_what_it_does_not_know() {
    each(|transport| {
        let (hosts, [_gateway, mobile_daemon]) = connected(false, transport);
        let inside = MOBILE.parse().unwrap();
        let (fixed, mut mobile) = connect(&hosts.fixed, &hosts.mobile, inside).unwrap();
        let (mut answering, mut asking) = connect(&hosts.fixed, &hosts.mobile, inside).unwrap();
        asking.shutdown(Shutdown::Write).unwrap();
        answering.read_to_end(&mut Vec::new()).unwrap();
        mobile_daemon.kill();
        answering.write_all(b"an answer").unwrap();
        // The gateway has both ends of this stream now.
        drop(answering);
        let restarted = hosts.start("mobile");
        for waiting in [&mobile, &asking] {
            waiting.set_read_timeout(Some(LONG)).unwrap();
        }
        let mut answer = Vec::new();
        let outcome = asking.read_to_end(&mut answer);
        if transport == "kernel-tcp" {
            outcome.unwrap();
            assert_eq!(answer, b"an answer");
            carry(fixed, mobile, 100_000);
        } else {
            let ends =
                [outcome, mobile.read(&mut [0])].map(|end| end.expect_err("an error").kind());
            assert_eq!(ends, [ErrorKind::ConnectionReset; 2], "{}", hosts.logs());
        }
        restarted.terminate();
    });
}

/// Hops that differ in what they lose only.
fn hop_that_loses(share: &str) -> String {
    format!(
        r#"
[each]
rate = "50 Mbit/s"
delay = "10 ms"
queue = "200 packets"
[errors]
model = "independent"
p = "{share}"
"#
    )
}

/// Which way connections of a host cross that begin now, and why.
fn choice(hosts: &Hosts, name: &str) -> Value {
    hosts.peer(name)["choice"].take()
}

/// How many connections went which way at a host, for that reason.
fn chosen(hosts: &Hosts, name: &str, because: &str) -> u64 {
    let status = hosts.status(name);
    let counts = status["split"]["choices"]["counts"].as_array();
    let mut counts = counts.into_iter().flatten();
    let found = counts.find(|count| count["because"] == because);
    found.map_or(0, |count| count["connections"].as_u64().unwrap())
}

/// The first connections pass as packets, as nothing is known of the hop; those that follow as the hop has shown.
#[test]
fn the_better_way_across_the_hop_is_chosen_for_each_connection() {
    if !able() {
        return;
    }
    for (loses, because, splits) in [("0 %", "clean", 0), ("10 %", "lossy", 2)] {
        let (hosts, _daemons) = started(&hop_that_loses(loses), false, "tcp = \"auto\"");
        hosts.wait_until("the mobile host could split", || diverts(&hosts, "mobile"));
        let seen: IpAddr = MOBILE.parse().unwrap();
        assert_eq!(fetch(&hosts, 2 << 20), seen);
        assert_eq!(split(&hosts)["on_streams"], 0);
        for end in ["gateway", "mobile"] {
            hosts.wait_until("the hop has shown", || {
                choice(&hosts, end)["because"] == because
            });
        }
        assert_eq!(fetch(&hosts, 1 << 20), seen);
        let before = chosen(&hosts, "gateway", because);
        let server = (&hosts.mobile, MOBILE.parse().unwrap());
        assert_eq!(
            fetch_between(&hosts, server, &hosts.fixed, 1 << 20),
            FIXED_HOST
        );
        assert!(
            chosen(&hosts, "mobile", because) >= 1,
            "{}",
            hosts.status("mobile")
        );
        assert_eq!(chosen(&hosts, "gateway", because), before + 1);
        let told = split(&hosts);
        assert_eq!(told["on_streams"], splits, "{told}");
        assert_eq!(told["strangers"], 0, "{told}");
    }
}
