//! Hops that carry shorter or longer packets than Ethernet, and say so or not: what crosses, and when.

use std::collections::BTreeMap;

use channel::Link;
use hosts::{BearerMtu, Input, PathReport, TcpMethod};
use tcp::Config;
use units::{Duration, Instant};

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(10);
const LENGTHS: [usize; 7] = [1_280, 1_400, 1_420, 1_460, 1_492, 1_500, 9_000];
/// 20 Mbit/s and 40 ms there and back.
const HOP: &str = "rate = '20 Mbit/s'\ndelay = '20 ms'\nqueue = '300 KiB'\n";

/// A hop with these properties beside.
fn link(properties: &str) -> Link {
    Link::from_toml(&format!("[each]\n{HOP}{properties}"), "hop.toml").expect("a link")
}

fn carries(length: usize) -> Link {
    link(&format!("mtu = {length}\n"))
}

/// As on hosts whose interfaces carry jumbo frames.
fn pair(link: Link) -> Pair {
    Pair::on_path(link, BearerMtu::up_to(9_000), (0, TcpMethod::Arq))
}

/// When the first byte of a download came, and what of it had come after ten seconds.
fn download(pair: &mut Pair) -> (Instant, u64) {
    pair.add(Traffic::bulk(1));
    while pair.received(1).payload == 0 {
        pair.run_for(STEP);
        assert!(pair.now < Instant::from_millis(5_000), "{}", pair.summary());
    }
    let first = pair.now;
    pair.run_until(Instant::from_millis(10_000));
    let received = pair.received(1);
    assert!(received.in_order);
    (first, received.payload)
}

fn found(pair: &Pair, host: usize) -> Option<usize> {
    pair.status(host).hop.path_mtu_bytes
}

#[test]
fn any_length_in_the_middle_is_found_and_used() {
    let (usual, _) = download(&mut pair(carries(1_500)));
    for length in LENGTHS {
        // One that knew it from the beginning.
        let known = BearerMtu {
            start: length,
            bound: length,
        };
        let (_, best) = download(&mut Pair::on_path(
            carries(length),
            known,
            (0, TcpMethod::Arq),
        ));
        for tells in [false, true] {
            let mut pair = pair(carries(length));
            pair.network.tells = tells;
            let (first, payload) = download(&mut pair);
            let share = payload as f64 / best as f64;
            println!("{length} {tells}: first after {first}, {share:.4} of the best");
            assert!(first <= usual + SECOND, "{length} {tells}: {first}");
            assert!(
                share > 0.99,
                "{length} {tells}: {share:.4} {}",
                pair.summary()
            );
            let fine =
                found(&pair, GATEWAY).is_some_and(|found| found <= length && length - found < 20);
            assert!(fine, "{length}: {:?}", found(&pair, GATEWAY));
            let came = pair.status(MOBILE).hop.path_mtu_inwards_bytes;
            assert_eq!(came, found(&pair, GATEWAY), "both ends see it");
            let stats = pair.status(GATEWAY).hop.stats.sent;
            assert_eq!(
                (stats.frames_lost, stats.fades),
                (0, 0),
                "tries are no losses"
            );
            let missed = pair.status(MOBILE).hop.stats.received.frames_missed;
            assert_eq!(missed, 0, "to the other end neither");
        }
    }
}

#[test]
fn each_direction_has_its_own() {
    let text = format!("[down]\n{HOP}mtu = 1492\n[up]\n{HOP}mtu = 1400\n");
    let mut pair = pair(Link::from_toml(&text, "hop.toml").expect("a link"));
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.run_for(SECOND * 5);
    assert_eq!(
        (found(&pair, GATEWAY), found(&pair, MOBILE)),
        (Some(1_492), Some(1_400))
    );
    for port in [1, 2] {
        assert!(pair.received(port).in_order && pair.received(port).packets > 2_000);
    }
}

#[test]
fn either_side_may_carry_less() {
    for near in [
        [Some(1_460), None],
        [None, Some(1_400)],
        [Some(1_300), Some(1_500)],
    ] {
        let mut pair = pair(link(""));
        pair.network.near = near;
        pair.add(Traffic::bulk(1));
        pair.add(Traffic::upload(2));
        pair.run_for(SECOND * 8);
        for host in [MOBILE, GATEWAY] {
            let most = near[host].unwrap_or(9_000);
            let fine = found(&pair, host).is_some_and(|found| found <= most && most - found <= 20);
            assert!(fine, "{near:?}: {:?}", found(&pair, host));
        }
        for port in [1, 2] {
            assert!(pair.received(port).in_order && pair.received(port).packets > 2_000);
        }
    }
}

#[test]
fn ip_outside_may_be_of_either_version() {
    let mut pair = Pair::on_path(carries(1_460), BearerMtu::up_to(1_500), (1, TcpMethod::Arq));
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 3);
    // The channel counts headers of IPv4, which are shorter by twenty.
    let length = found(&pair, GATEWAY).expect("found");
    assert!((1_460..=1_480).contains(&length), "{length}");
    assert!(pair.received(1).packets > 2_000);
}

/// Returns the bytes of a download received in ten seconds, in the fifth of which the path changes.
fn over_a_change(from: usize, to: usize, told: (bool, bool)) -> u64 {
    let (by_icmp, by_news) = told;
    let mut pair = pair(link(&format!(
        "mtu = {from}\nschedule = [{{ at = '5 s', mtu = {to} }}]\n"
    )));
    pair.network.tells = by_icmp;
    pair.add(Traffic::bulk(1));
    pair.run_until(Instant::from_millis(5_000));
    if by_news {
        pair.input(GATEWAY, Input::LinkUp);
    }
    let before = pair.received(1).payload;
    pair.run_for(SECOND * 2);
    let between = pair.received(1).payload;
    pair.run_for(SECOND * 3);
    let received = pair.received(1);
    assert!(
        received.in_order,
        "what was cut for longer frames has crossed"
    );
    // Two seconds after the change all is as it was.
    let pace = (received.payload - between) as f64 / 3.0;
    let usual = before as f64 / 5.0;
    let told = format!("{from} to {to}, {told:?}: {:?}", found(&pair, GATEWAY));
    assert!(
        pace > 0.93 * usual,
        "{told}: {pace} after {usual}: {}",
        pair.summary()
    );
    assert!(
        found(&pair, GATEWAY).is_some_and(|found| found <= to),
        "{told}"
    );
    if by_news && from != to {
        assert!(
            found(&pair, GATEWAY).is_some_and(|found| to - found <= 20),
            "{told}"
        );
    }
    println!(
        "{told}, stalled for about {:.3} s",
        2.0 - (between - before) as f64 / usual
    );
    received.payload
}

#[test]
fn a_change_in_mid_transfer_costs_little() {
    let mut known = BTreeMap::new();
    let mut unchanged = |length| {
        let run = || over_a_change(length, length, (false, false));
        *known.entry(length).or_insert_with(run)
    };
    for (from, to) in [
        (1_500, 1_400),
        (1_500, 1_280),
        (9_000, 1_460),
        (1_492, 1_300),
        (1_400, 1_500),
        (1_280, 9_000),
    ] {
        for told in [(false, false), (true, false), (false, true)] {
            let best = unchanged(from).min(unchanged(to));
            let payload = over_a_change(from, to, told);
            let lost = best.saturating_sub(payload) as f64 / (best as f64 / 10.0);
            println!("{from} to {to}, {told:?}: {lost:.3} s");
            assert!(lost <= 1.0, "{from} to {to}, {told:?}: {lost:.3} s");
        }
    }
}

#[test]
fn losses_and_fades_change_nothing() {
    for name in ["l4-p1", "l2-b40", "l2-b80", "l3-p1", "l3-p5", "l1-b80"] {
        let mut pair = Pair::on_path(
            Link::named(name).expect("a link"),
            BearerMtu::up_to(1_500),
            (0, TcpMethod::Arq),
        );
        pair.add(Traffic::bulk(1));
        // A slow hop that fades may not have let all tries through at once.
        while found(&pair, GATEWAY) != Some(1_500) {
            pair.run_for(Duration::from_millis(100));
            let late = pair.now > Instant::from_millis(20_000);
            assert!(!late, "{name}: {}", pair.summary());
        }
        for _ in 0..200 {
            pair.run_for(Duration::from_millis(100));
            assert_eq!(
                found(&pair, GATEWAY),
                Some(1_500),
                "{name} at {}: {}",
                pair.now,
                pair.summary()
            );
        }
    }
}

#[test]
fn forged_messages_cost_next_to_nothing() {
    let run = |forged: bool| {
        let mut pair = pair(carries(1_500));
        pair.add(Traffic::bulk(1));
        let mut step = 0;
        while pair.now < Instant::from_millis(10_000) {
            pair.run_for(Duration::from_millis(1));
            let most = [0, 68, 1_279, 1_280, 1_281, 1_400, 65_535][step % 7];
            step += 1;
            if forged {
                let (to, news) = (pair.address(MOBILE), PathReport::Said(most));
                pair.input(GATEWAY, Input::Path { to, news });
            }
        }
        pair.received(1).payload
    };
    let share = run(true) as f64 / run(false) as f64;
    assert!(share > 0.99, "{share:.4}");
}

/// Segments of TCP that nobody repairs here cross in two where they were agreed on for longer frames.
#[test]
fn tcp_of_every_method_crosses_a_change() {
    const BYTES: u64 = 6_000_000;
    for method in [TcpMethod::Arq, TcpMethod::Snoop, TcpMethod::Plain] {
        for from in [GATEWAY, MOBILE] {
            let link = link("mtu = 1500\nschedule = [{ at = '2500 ms', mtu = 1340 }]\n");
            let mut pair = Pair::on_path(link, BearerMtu::up_to(9_000), (0, method));
            pair.run_for(SECOND);
            let mut config = Config::modern();
            config.maximum_segment_size = 1_460;
            pair.connect(Ends::new(&config), (from, BYTES));
            let end = pair.now + SECOND * 60;
            while pair.ends().read(1 - from) != (BYTES, true) && pair.now < end {
                pair.run_for(Duration::from_millis(100));
            }
            println!("{method:?} from {from}: by {}", pair.now);
            assert_eq!(
                pair.ends().read(1 - from),
                (BYTES, true),
                "{method:?} {}",
                pair.summary()
            );
            assert_eq!(pair.ends().wrong, 0);
            assert!(
                pair.now < Instant::from_millis(9_000),
                "{method:?} from {from}: {}",
                pair.now
            );
        }
    }
}

#[test]
fn a_path_below_what_any_should_carry_is_used_too() {
    let mut pair = pair(carries(1_000));
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 8);
    assert!(pair.received(1).in_order);
    assert!(pair.received(1).payload > 8_000_000, "{}", pair.summary());
    assert!(found(&pair, GATEWAY).is_some_and(|found| (980..=1_000).contains(&found)));
}
