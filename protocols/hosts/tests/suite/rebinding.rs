//! A peer at another address: its NAT has bound it anew, both ends have moved, or somebody copies its datagrams.

use channel::Link;
use hosts::{Input, Output, Peer, Role};
use machine::Machine;
use units::{BitRate, Duration, Instant};
use wire::address::HopAddress;
use wire::ethernet::MacAddress;

use crate::support::place::Copies;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic, build};

const SECOND: Duration = Duration::from_secs(1);
const RATE: u64 = 20;
/// One-way delay in milliseconds, and the round trip.
const DELAY: u64 = 20;

fn address(number: u32) -> HopAddress {
    let host = std::net::Ipv4Addr::from(0xc633_6400 + number);
    HopAddress::Udp((host, 40_000).into())
}

/// A pair in the midst of these transfers.
fn transfers(delay: u64, traffic: impl IntoIterator<Item = Traffic>) -> Pair {
    let text = format!(
        "each = {{ rate = '{RATE} Mbit/s', delay = '{delay} ms', queue = '1000 packets' }}"
    );
    let link = Link::from_toml(&text, "rebinding.toml").expect("a link");
    let mut pair = Pair::over(link, 3, 0);
    for traffic in traffic {
        pair.add(traffic);
    }
    pair.run_for(SECOND * 5);
    pair
}

/// What a new binding costs.
#[derive(Debug)]
struct Healing {
    /// Time from the binding until something comes from the new address, and from then until the first long datagram
    /// leaves for it.
    shown: Duration,
    used: Option<Duration>,
    /// Time for which nothing was received, compared with the same transfer without a new binding.
    lost: Duration,
}

/// Lets the mobile's NAT bind it to another address, after an outage.
fn healing(pair: &mut Pair, port: u16, outage: Duration) -> Healing {
    let watched = SECOND * 5;
    let before = pair.received(port).payload;
    pair.run_for(watched);
    let usual = pair.received(port).payload - before;
    pair.blackout = pair.now..pair.now + outage;
    pair.run_for(outage);
    let begun = pair.now;
    pair.place.mobile = Some(address(1));
    (pair.place.shown, pair.place.reached) = (None, None);
    let before = pair.received(port).payload;
    pair.run_for(watched);
    let payload = pair.received(port).payload - before;
    assert!(pair.received(port).in_order);
    assert_eq!(pair.status(GATEWAY).endpoint, Some(address(1)));
    let shown = pair.place.shown.expect("a datagram");
    Healing {
        shown: shown.since(begun),
        used: pair.place.reached.map(|at| at.since(shown)),
        lost: watched.scaled(usual.saturating_sub(payload), usual),
    }
}

/// No address got more than three times the bytes that came from there.
fn is_bounded(pair: &Pair) {
    for (at, copied) in &pair.place.copied {
        let strayed = pair.place.strayed.get(at).copied().unwrap_or_default();
        assert!(
            strayed <= 3 * copied,
            "{at} got {strayed} bytes for {copied}"
        );
    }
}

/// The share of the hop that a transfer has while `host` gets such copies.
fn share_with_copies(traffic: Traffic, host: usize, copies: Copies) -> (f64, Pair) {
    let port = traffic.port;
    let mut pair = transfers(DELAY, [traffic]);
    pair.place.copies = Some((host, copies));
    let share = pair.used(port, BitRate::from_megabits(RATE), SECOND * 10);
    (share, pair)
}

fn none() -> Copies {
    Box::new(|| None)
}

fn once() -> Copies {
    let mut victims = [address(9)].into_iter();
    Box::new(move || victims.next())
}

/// Copies of all datagrams, each from another address.
fn ever_new() -> Copies {
    let mut number = 100;
    Box::new(move || {
        number += 1;
        Some(address(number))
    })
}

#[test]
fn copies_bring_their_addresses_little_and_cost_the_transfer_nothing() {
    type Attack = (&'static str, fn() -> Copies);
    let always: fn() -> Copies = || Box::new(|| Some(address(9)));
    let attacks: [Attack; 3] = [("once", once), ("always", always), ("ever new", ever_new)];
    let transfers: [fn(u16) -> Traffic; 2] = [Traffic::upload, Traffic::bulk];
    for host in [MOBILE, GATEWAY] {
        let transfer = transfers[host];
        let (alone, _) = share_with_copies(transfer(1), host, none());
        for (name, copies) in attacks {
            let (share, pair) = share_with_copies(transfer(1), host, copies());
            let strayed: u64 = pair.place.strayed.values().sum();
            let told = format!(
                "copies to {host}, {name}: share {share:.3}, alone {alone:.3}, {strayed} bytes strayed"
            );
            println!("{told}");
            is_bounded(&pair);
            assert!(share > alone * 0.99, "{told}");
            assert_eq!(
                pair.status(host).endpoint,
                Some(pair.address(1 - host)),
                "{told}"
            );
        }
    }
}

#[test]
fn a_victim_gets_nothing_when_the_peer_falls_silent() {
    let mut pair = transfers(DELAY, [Traffic::bulk(1)]);
    pair.place.copies = Some((GATEWAY, once()));
    pair.run_for(Duration::from_millis(10));
    // Nothing comes from the mobile host any more.
    pair.severed = Some(MOBILE);
    pair.run_for(SECOND * 60);
    is_bounded(&pair);
    assert!(pair.place.strayed[&address(9)] > 0, "it was challenged");
}

/// Names, traffic, and the port that is watched.
fn kinds() -> [(&'static str, Vec<Traffic>, u16); 3] {
    [
        ("download", vec![Traffic::bulk(1)], 1),
        ("both ways", vec![Traffic::bulk(1), Traffic::upload(2)], 1),
        ("upload", vec![Traffic::upload(2)], 2),
    ]
}

/// The challenge and its answer take one round trip, whether the hop was silent before or not.
#[test]
fn a_new_binding_heals_within_a_round_trip() {
    for delay in [5, DELAY, 150] {
        for outage in [0, 500, 5_000].map(Duration::from_millis) {
            for (name, traffic, port) in kinds() {
                let mut pair = transfers(delay, traffic);
                let healing = healing(&mut pair, port, outage);
                let told = format!("{delay} ms, {name}, outage of {outage}: {healing:?}");
                println!("{told}");
                // Both ways are full, so some more waits in queues.
                let most = Duration::from_millis(delay * 2 + 20);
                assert!(healing.used.is_none_or(|used| used <= most), "{told}");
                assert_eq!(healing.used.is_none(), name == "upload", "{told}");
                let most = healing.shown + most + Duration::from_millis(delay * 4 + 100);
                assert!(healing.lost <= most, "{told}");
            }
        }
    }
}

#[test]
fn a_new_binding_heals_among_copies_from_ever_new_addresses() {
    for every in [2, 3, 10] {
        let mut pair = transfers(DELAY, [Traffic::bulk(1), Traffic::upload(2)]);
        let (mut count, mut fresh) = (0, ever_new());
        let copies = move || {
            count += 1;
            if count % every == 0 { fresh() } else { None }
        };
        pair.place.copies = Some((GATEWAY, Box::new(copies)));
        let healing = healing(&mut pair, 1, Duration::ZERO);
        is_bounded(&pair);
        println!("every {every}: {healing:?}");
        assert!(
            healing.lost < Duration::from_millis(400),
            "every {every}: {healing:?}"
        );
    }
}

/// The first pause is two round trips, and it doubles.
#[test]
fn lost_challenges_and_answers_are_repeated() {
    let message = 34;
    for (host, lost, pauses) in [
        (GATEWAY, 1, 2),
        (GATEWAY, 2, 6),
        (MOBILE, 1, 2),
        (MOBILE, 2, 6),
    ] {
        let mut pair = transfers(DELAY, [Traffic::bulk(1), Traffic::upload(2)]);
        pair.place.loses = Some((host, message, lost));
        let healing = healing(&mut pair, 1, Duration::ZERO);
        println!("{host} loses {lost}: {healing:?}");
        assert_eq!(pair.place.loses, Some((host, message, 0)));
        let used = healing.used.expect("it heals");
        assert!(
            used <= Duration::from_millis(DELAY * 2 * (1 + pauses) + 60),
            "{used}"
        );
    }
    // A probe without content has credit for two challenges.
    let mut pair = transfers(DELAY, [Traffic::bulk(1)]);
    pair.place.loses = Some((GATEWAY, message, 1));
    let healing = healing(&mut pair, 1, Duration::from_millis(500));
    let used = healing.used.expect("it heals");
    assert!(used <= Duration::from_millis(DELAY * 6 + 60), "{healing:?}");
}

#[test]
fn both_ends_move_at_once() {
    for traffic in kinds() {
        let (name, traffic, port) = traffic;
        let mut pair = transfers(DELAY, traffic);
        pair.blackout = pair.now..pair.now + SECOND;
        pair.run_for(SECOND);
        pair.place.mobile = Some(address(1));
        pair.place.gateway = Some(address(2));
        pair.run_for(SECOND * 10);
        let at = address(2);
        let begun = pair.now;
        let before = pair.received(port).payload;
        pair.input(MOBILE, Input::Found { peer: 0, at });
        while pair.received(port).payload == before {
            pair.run_for(Duration::from_millis(1));
        }
        let took = pair.now.since(begun);
        println!("{name}: {took}");
        assert!(took < Duration::from_millis(DELAY * 8), "{name}: {took}");
        pair.run_for(SECOND);
        assert_eq!(pair.status(GATEWAY).endpoint, Some(address(1)));
        assert_eq!(pair.status(MOBILE).endpoint, Some(address(2)));
    }
}

/// Copies of the first datagrams come from a victim: the handshake shows nothing then, and a challenge does.
#[test]
fn a_copied_initiation_brings_its_address_little() {
    let established = |pair: &Pair| pair.received(1).payload > 0;
    let first = |copies| {
        let mut pair = Pair::new("l2-clean", 7);
        pair.place.copies = Some((GATEWAY, copies));
        pair.add(Traffic::bulk(1));
        while !established(&pair) {
            pair.run_for(Duration::from_millis(1));
        }
        let took = pair.now.since_origin();
        pair.run_for(SECOND * 5);
        is_bounded(&pair);
        assert_eq!(pair.status(GATEWAY).endpoint, Some(pair.address(MOBILE)));
        (
            took,
            pair.status(GATEWAY).hop.round_trip.expect("a round trip"),
        )
    };
    let (alone, round_trip) = first(none());
    let (copied, _) = first(once());
    println!("{alone}, with a copy {copied}");
    assert!(copied <= alone + round_trip * 2, "{alone}, {copied}");
}

/// Hosts on one link; the mobile host knows no address, and one copy of what the gateway answers comes from elsewhere.
#[test]
fn nothing_but_a_challenge_goes_where_a_sought_gateway_only_seems_to_be() {
    let at = |last: u8| HopAddress::Ethernet(MacAddress([2, 0, 0, 0, 0, last]));
    let peer = Peer {
        endpoint: Some(HopAddress::EVERYBODY),
        ..build::peer("gateway", &[("0.0.0.0", 0)])
    };
    let mobile = build::config(Role::Mobile, "mobile", vec![peer]);
    let peer = build::peer("mobile", &[("10.9.0.2", 32)]);
    let gateway = build::config(Role::Gateway, "gateway", vec![peer]);
    let mut hosts = [mobile, gateway].map(|config| build::host(config, build::entropy(3, "draws")));
    let mut now = Instant::from_millis(1);
    for host in &mut hosts {
        host.handle_input(now, Input::Wall(1_800_000_000_000_000_000));
    }
    let mut upload = Traffic::upload(1);
    let (mut to_all, mut to_victim, mut forwarded) = (0, Vec::new(), 0);
    for round in 0..20 {
        now += Duration::from_millis(5);
        if round > 0 {
            hosts[MOBILE].handle_input(now, Input::Packet(upload.full_packet()));
        }
        for host in [MOBILE, GATEWAY] {
            hosts[host].handle_timeout(now);
            while let Some(output) = hosts[host].poll_output() {
                match output {
                    Output::Datagram { to, buffer, .. } if to == at(9) => {
                        to_victim.push(buffer.len());
                    }
                    Output::Datagram { to, buffer, .. } => {
                        to_all += u64::from(to.is_group());
                        if host == GATEWAY && round == 0 {
                            let copy = build::datagram(at(9), now, buffer.clone());
                            hosts[MOBILE].handle_input(now, copy);
                        }
                        let from = at(host as u8);
                        hosts[1 - host].handle_input(now, build::datagram(from, now, buffer));
                    }
                    Output::Packet(_) => forwarded += 1,
                    _ => {}
                }
            }
        }
    }
    assert_eq!(to_victim, [34], "a challenge");
    assert!(to_all <= 2, "{to_all}: the initiation and the confirmation");
    assert!(forwarded > 0);
    assert_eq!(
        hosts[MOBILE].status(now).peers[0].endpoint,
        Some(at(GATEWAY as u8))
    );
}
