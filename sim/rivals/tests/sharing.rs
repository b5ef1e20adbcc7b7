//! Each kind of sender shows its known behaviour on a plain bottleneck.

use channel::{Direction, Link};
use rivals::{Alone, Kind, alone};
use units::{Duration, Instant};

/// 20 Mbit/s, 20 ms each way.
fn link(packets: u64) -> Link {
    let text = format!(
        "down = {{ rate = '20 Mbit/s', delay = '20 ms', queue = '{packets} packets' }}\n\
         up = {{ rate = '20 Mbit/s', delay = '20 ms', queue = '1000 packets' }}"
    );
    Link::from_toml(&text, "bottleneck.toml").expect("a link")
}

/// Packets of 1,514 bytes in a bandwidth-delay product of 100 kB.
const PRODUCT: u64 = 66;

const fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

/// Returns the shares of these kinds between 20 and 80 s, in percent; each starts `apart` milliseconds after the one
/// before.
fn shares(kinds: &[Kind], packets: u64, apart: u64) -> Vec<u64> {
    let mut run = Alone::new(&link(packets), 1);
    for (place, kind) in kinds.iter().enumerate() {
        let start = Instant::from_millis(place as u64 * apart);
        run.rivals.add(*kind, Direction::Down, start..at(80));
    }
    run.run_until(at(80));
    let got: Vec<_> = (0..kinds.len())
        .map(|number| run.rivals.delivered_within(number, at(20)..at(80)))
        .collect();
    let total: u64 = got.iter().sum();
    got.iter().map(|bytes| bytes * 100 / total).collect()
}

#[test]
fn each_fills_a_link_of_its_own() {
    for kind in [Kind::Cubic, Kind::Bbr] {
        let outcome = alone(&link(PRODUCT), 1, kind, Instant::ZERO, at(5)..at(65));
        let rate = outcome.goodput.bits_per_second();
        println!("{kind:?}: {outcome:?}");
        // Headers and Ethernet leave 1,448 of 1,514 bytes of the rate.
        let most = 20_000_000 * 1_448 / 1_514;
        assert!(rate * 100 >= most * 97, "{kind:?}: {rate} of {most}");
    }
}

#[test]
fn cubic_fills_the_queue_and_bbr_keeps_it_short() {
    let deep = link(4 * PRODUCT);
    let wait = |kind| {
        let outcome = alone(&deep, 1, kind, Instant::ZERO, at(5)..at(65));
        println!("{kind:?}: {outcome:?}");
        outcome
    };
    let (cubic, bbr) = (wait(Kind::Cubic), wait(Kind::Bbr));
    // The queue of four products is 160 ms long.
    assert!(cubic.requests.p95 > Duration::from_millis(40 + 130));
    assert!(cubic.requests.median > Duration::from_millis(40 + 80));
    assert!(cubic.down.dropped_queue.packets > 0);
    assert!(bbr.requests.p95 < Duration::from_millis(40 + 45));
    assert_eq!(bbr.down.dropped_queue.packets, 0);
}

#[test]
fn two_of_a_kind_share() {
    for kind in [Kind::Cubic, Kind::Bbr] {
        for apart in [170, 1_370, 5_210] {
            let got = shares(&[kind; 2], PRODUCT, apart);
            println!("{kind:?}: {got:?}");
            let squares: u64 = got.iter().map(|share| share * share).sum();
            // Jain's index, 10,000 / (2 * squares).
            assert!(10_000 * 100 / (2 * squares) >= 95, "{kind:?}: {got:?}");
        }
    }
}

#[test]
fn a_short_queue_is_bbrs_and_a_long_one_cubics() {
    let short = shares(&[Kind::Cubic, Kind::Bbr], PRODUCT / 4, 370);
    let long = shares(&[Kind::Cubic, Kind::Bbr], PRODUCT * 4, 370);
    println!("{short:?} {long:?}");
    assert!(short[1] >= 75, "{short:?}");
    assert!(long[0] >= 55, "{long:?}");
}
