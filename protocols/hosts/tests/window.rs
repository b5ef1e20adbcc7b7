//! A window on what is outstanding, where the hop's rate changes or others use it too, beside an estimate of the rate.

mod support;

use channel::{Direction, Link};
use rivals::Kind;
use support::{Pair, Traffic};
use units::{Duration, Instant};

const SEED: u64 = 3;
const SPAN: Duration = Duration::from_secs(40);

fn link(text: &str) -> Link {
    Link::from_toml(text, "window.toml").expect("a link")
}

/// Bytes that arrive of a download within [`SPAN`] by an estimate of the rate, and by a window, beside so many others.
fn both(link: &Link, others: &[Kind]) -> [(u64, Pair); 2] {
    let pairs = [
        Pair::over(link.clone(), SEED, 0),
        Pair::windowed(link.clone(), SEED),
    ];
    pairs.map(|mut pair| {
        pair.add(Traffic::bulk(1));
        for kind in others {
            let from = Instant::ZERO + Duration::from_secs(2);
            pair.add_rival(*kind, from..from + SPAN);
        }
        pair.run_for(SPAN);
        assert!(pair.received(1).in_order);
        (pair.received(1).payload, pair)
    })
}

#[test]
fn beside_a_rival_it_gets_several_times_as_much() {
    let text = "each = { rate = '20 Mbit/s', delay = '20 ms', queue = '66 packets' }";
    let [(estimate, _), (window, pair)] = both(&link(text), &[Kind::Cubic]);
    let rival = pair.rival_delivered(0);
    let told = format!("{estimate} by an estimate, {window} by a window beside {rival}");
    println!("{told}");
    assert!(window > estimate * 2, "{told}");
    assert!(window * 4 > rival, "{told}");
}

/// A link that carries 20 Mbit/s and a tenth of that in turns.
#[test]
fn a_rate_that_falls_fills_no_queue() {
    let step = |step: u64| {
        let (at, rate) = (step * 2, if step.is_multiple_of(2) { 20 } else { 2 });
        format!("{{ at = '{at} s', rate = '{rate} Mbit/s' }}")
    };
    let steps = (1..20).map(step).collect::<Vec<_>>().join(", ");
    let each = "rate = '20 Mbit/s', delay = '20 ms', queue = '1000 packets'";
    let text = format!("down = {{ {each}, schedule = [{steps}] }}\nup = {{ {each} }}");
    let [(estimate, before), (window, pair)] = both(&link(&text), &[]);
    let dropped = |pair: &Pair| pair.channel.counters(Direction::Down).dropped_queue.packets;
    let capacity = pair.capacity(Direction::Down, Instant::ZERO).get();
    let told = format!(
        "{estimate} by an estimate with {} dropped, {window} by a window with {}, of {capacity}",
        dropped(&before),
        dropped(&pair),
    );
    println!("{told}");
    assert_eq!(dropped(&pair), 0, "{told}");
    assert!(window * 100 > capacity * 85, "{told}");
    assert!(window * 100 > estimate * 97, "{told}");
}
