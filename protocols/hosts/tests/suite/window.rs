//! The bytes in flight, if the hop's rate changes or others use it too.

use channel::{Direction, Link};
use rivals::Kind;
use units::{Duration, Instant};

use crate::support::{Pair, Traffic};

const SEED: u64 = 3;
const SPAN: Duration = Duration::from_secs(40);

fn link(text: &str) -> Link {
    Link::from_toml(text, "window.toml").expect("a link")
}

/// A download of [`SPAN`] beside so many others.
fn download(link: &Link, others: &[Kind]) -> Pair {
    let mut pair = Pair::over(link.clone(), SEED, 0);
    pair.add(Traffic::bulk(1));
    for kind in others {
        let from = Instant::ZERO + Duration::from_secs(2);
        pair.add_rival(*kind, from..from + SPAN);
    }
    pair.run_for(SPAN);
    assert!(pair.received(1).in_order);
    pair
}

#[test]
fn beside_a_rival_it_gets_a_share() {
    let text = "each = { rate = '20 Mbit/s', delay = '20 ms', queue = '66 packets' }";
    let pair = download(&link(text), &[Kind::Cubic]);
    let (own, rival) = (pair.received(1).payload, pair.rival_delivered(0));
    let told = format!("{own} beside {rival}");
    println!("{told}");
    assert!(own * 4 > rival && rival * 2 > own, "{told}");
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
    let pair = download(&link(&text), &[]);
    let dropped = pair.channel.counters(Direction::Down).dropped_queue.packets;
    let capacity = pair.capacity(Direction::Down, Instant::ZERO).get();
    let own = pair.received(1).payload;
    let told = format!("{own} of {capacity}, {dropped} dropped");
    println!("{told}");
    assert_eq!(dropped, 0, "{told}");
    assert!(own * 100 > capacity * 80, "{told}");
}
