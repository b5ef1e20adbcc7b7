//! Two real daemons on one link, by Ethernet frames of their own; and a mobile host that moves between two access
//! points of the gateway's network, by either bearer.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use edges::netlink::Netlink;

use crate::support::lan::{Lan, POINTS};
use crate::support::{FIXED_HOST, GATEWAY_OUTSIDE, Hosts, able, connect, content, fetch, ping};

/// What both configurations say of the bearer.
const BY_ETHERNET: &str = "[hop]\nbearer = \"ethernet\"\ninterface = \"air\"";

/// Lets both daemons speak by Ethernet frames; the mobile host is told where the gateway is, or looks for it.
fn by_ethernet(hosts: &Hosts, endpoint: Option<&str>) {
    for (part, place) in [("gateway", "[tun]"), ("mobile", "[gateway]")] {
        hosts.configure_more(part, place, BY_ETHERNET);
    }
    let endpoint = endpoint.map(|address| format!("endpoint = \"{address}\""));
    let file = hosts.folder.path().join("mobile.toml");
    let old = fs::read_to_string(&file).unwrap();
    let new = old.replace(
        "endpoint = \"10.1.0.1:51830\"",
        &endpoint.unwrap_or_default(),
    );
    assert_ne!(old, new);
    fs::write(file, new).unwrap();
}

fn address_of(host: &Namespace) -> String {
    let link = host.run(|| Netlink::open().unwrap().link("air").unwrap());
    let bytes = link.unwrap().hardware_address;
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(":")
}

/// Takes the outer addresses away: no IP can cross but within the hop's frames.
fn without_ip(hosts: &Hosts) {
    for (host, address) in [
        (&hosts.gateway, "10.1.0.1/24"),
        (&hosts.mobile, "10.1.0.2/24"),
    ] {
        let remove = || {
            Netlink::open()
                .unwrap()
                .remove_address("air", address.parse().unwrap())
        };
        host.run(remove).unwrap().unwrap();
    }
}

#[test]
fn a_link_without_ip_carries_everything() {
    if !able() {
        return;
    }
    for is_told in [true, false] {
        let hosts = Hosts::create();
        without_ip(&hosts);
        let places = [&hosts.gateway, &hosts.mobile].map(address_of);
        by_ethernet(&hosts, is_told.then_some(&*places[0]));
        let before = hosts.traces();
        let [gateway, mobile] = hosts.start_both();
        ping(&hosts.mobile, FIXED_HOST);
        assert_eq!(fetch(&hosts, 8 << 20), GATEWAY_OUTSIDE);
        assert_eq!(hosts.peer("mobile")["endpoint"], *places[0]);
        assert_eq!(hosts.peer("gateway")["endpoint"], *places[1]);
        assert_eq!(hosts.peer("gateway")["registration"]["state"], "registered");
        for daemon in [&gateway, &mobile] {
            assert_eq!(daemon.capabilities(), 0, "no capability is kept");
        }

        assert_eq!(mobile.terminate().code(), Some(0));
        hosts.wait_until("the gateway hears that the mobile has left", || {
            hosts.peer("gateway")["registration"]["state"] == "left"
        });
        assert_eq!(gateway.terminate().code(), Some(0));
        assert_eq!(hosts.traces(), before);
    }
}

#[test]
fn an_interface_that_is_missing_is_an_error_of_the_setting() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    hosts.configure_more("gateway", "[tun]", &BY_ETHERNET.replace("air", "nowhere"));
    let (code, said) = hosts.start("gateway").end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no interface 'nowhere'"), "{said}");
}

/// Fetches `length` bytes, and moves to the second access point when a half has come; checks each byte.
/// Gives the longest time without any from the move on, and how long the move took.
fn fetch_and_move(
    hosts: &Hosts,
    lan: &Lan,
    length: usize,
    outage: Duration,
) -> (Duration, Duration) {
    let content = content(length, 0);
    let (mut stream, mut server) = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
    std::thread::scope(|scope| {
        let sent = &content;
        scope.spawn(move || server.write_all(sent).unwrap());
        let mut received = vec![0; length / 2];
        stream.read_exact(&mut received).unwrap();
        let mut stall = Duration::ZERO;
        let moving = scope.spawn(|| lan.hand_off(POINTS[1], outage));
        let mut last = Instant::now();
        let mut part = vec![0; 64 << 10];
        loop {
            let count = match stream.read(&mut part) {
                // A pause of the whole machine does that to who waits with a timeout (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.unwrap(),
            };
            stall = stall.max(last.elapsed());
            last = Instant::now();
            received.extend_from_slice(&part[..count]);
            if count == 0 {
                break;
            }
        }
        let move_took = moving.join().unwrap();
        assert!(
            received == content,
            "{} of {length} bytes, or wrong ones",
            received.len()
        );
        (stall, move_took)
    })
}

/// A pair of hosts that run, on a network with two access points.
fn moving(is_ethernet: bool) -> (Hosts, Lan) {
    let (hosts, lan) = Hosts::on_lan();
    if is_ethernet {
        by_ethernet(&hosts, None);
    }
    (hosts, lan)
}

#[test]
fn a_transfer_outlives_a_move_to_another_access_point() {
    if !able() {
        return;
    }
    for is_ethernet in [true, false] {
        let (hosts, lan) = moving(is_ethernet);
        let [gateway, mobile] = hosts.start_both();
        let place = hosts.peer("gateway")["endpoint"].clone();
        fetch_and_move(&hosts, &lan, 48 << 20, Duration::from_millis(200));
        // The cable may have come only after the last byte.
        hosts.wait_until("the mobile host is in reach again", || {
            hosts
                .log("mobile")
                .contains("in reach after a change that took")
        });
        assert!(
            hosts
                .log("mobile")
                .contains("the network of this host is changing")
        );
        // Nothing began anew, and nobody was taken for somebody else.
        for part in ["gateway", "mobile"] {
            assert_eq!(
                hosts.log(part).matches(": connected").count(),
                1,
                "{}",
                hosts.log(part)
            );
            assert!(!hosts.log(part).contains("moved to"), "{}", hosts.log(part));
        }
        assert_eq!(hosts.peer("gateway")["endpoint"], place);
        assert_eq!(hosts.peer("gateway")["registration"]["state"], "registered");
        mobile.terminate();
        gateway.terminate();
    }
}

/// A setting in which moves are measured.
struct Measured {
    name: &'static str,
    is_ethernet: bool,
    /// How often the kernel asks again for the gateway's MAC address, in milliseconds, where that is not as usual.
    interval: Option<&'static str>,
}

impl Measured {
    /// Moves once; gives how much longer than the move nothing came, in milliseconds, and the hop's round trip.
    fn run(&self, outage: Duration) -> (String, String) {
        let (hosts, lan) = moving(self.is_ethernet);
        if let Some(interval) = self.interval {
            rig::set(
                &hosts.mobile,
                "net/ipv4/neigh/air/retrans_time_ms",
                interval,
            )
            .unwrap();
        }
        let daemons = hosts.start_both();
        let (stall, move_took) = fetch_and_move(&hosts, &lan, 96 << 20, outage);
        let hop = hosts.peer("gateway")["hop"].clone();
        drop(daemons);
        let beyond = stall.saturating_sub(move_took).as_secs_f64() * 1e3;
        let round_trip = hop["round_trip"].as_str().unwrap_or("-");
        (format!("{beyond:.0}"), round_trip.to_owned())
    }
}

/// By hand: how long nothing arrives beyond the move itself, and the hop's round trip.
/// `cargo test -p lasthop --test suite ethernet:: -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn stalls_of_moves() {
    if !able() {
        return;
    }
    let settings = [
        ("ethernet", true, None),
        ("udp", false, None),
        ("udp, asking each 100 ms", false, Some("100")),
    ];
    let settings = settings.map(|(name, is_ethernet, interval)| Measured {
        name,
        is_ethernet,
        interval,
    });
    println!("| bearer | outage | stall beyond it, each run | round trips |\n|---|---|---|---|");
    for setting in settings {
        for outage in [50, 200, 1_000].map(Duration::from_millis) {
            let runs: Vec<_> = (0..7).map(|_| setting.run(outage)).collect();
            let (stalls, round_trips): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
            let (stalls, round_trips) = (stalls.join(", "), round_trips.join(", "));
            println!(
                "| {} | {outage:?} | {stalls} ms | {round_trips} |",
                setting.name
            );
        }
    }
}
