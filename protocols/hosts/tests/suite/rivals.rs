//! The tunnel on a hop that is not its own: TCP connections of other people cross the same queue.

use channel::{Direction, Link};
use rivals::{Kind, Percentiles, alone};
use tcp::{Config, Control};
use units::{Duration, Instant};

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

/// 20 Mbit/s, 20 ms each way, a queue of one bandwidth-delay product.
fn link() -> Link {
    let text = "each = { rate = '20 Mbit/s', delay = '20 ms', queue = '66 packets' }";
    Link::from_toml(text, "shared.toml").expect("a link")
}

const fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

#[test]
fn a_rival_crosses_the_same_queue_while_it_lasts() {
    for kind in [Kind::Cubic, Kind::Bbr] {
        let mut pair = Pair::over(link(), 1, 0);
        pair.add(Traffic::bulk(1));
        let rival = pair.add_rival(kind, at(5)..at(15));
        pair.run_until(at(5));
        let before = pair.received(1).payload;
        assert_eq!(pair.rival_delivered(rival), 0);
        pair.run_until(at(15));
        let during = pair.received(1).payload - before;
        let got = pair.rival_delivered(rival);
        pair.run_until(at(16));
        let drained = pair.rival_delivered(rival);
        pair.run_until(at(20));
        assert_eq!(pair.rival_delivered(rival), drained, "it has stopped");
        // Both together fill the link, and neither all of it.
        let both = (during + got) * 8 / 10;
        assert!((17_000_000..20_000_000).contains(&both), "{during}, {got}");
        assert!(during > 500_000 && got > 5_000_000, "{during}, {got}");
        assert!(pair.received(1).in_order);
    }
}

#[test]
fn a_kernels_connection_goes_through_the_tunnel_as_it_goes_without() {
    let (seed, span) = (1, at(5)..at(25));
    let mut pair = Pair::over(link(), seed, 0);
    pair.run_until(at(1));
    pair.connect(
        Ends::new(&Config::kernel(Control::Cubic)),
        (GATEWAY, 1 << 40),
    );
    pair.add_requests(span.start);
    pair.run_until(span.start);
    let before = pair.ends().read(MOBILE).0;
    pair.run_until(span.end);
    let bytes = pair.ends().read(MOBILE).0 - before;
    let inside = bytes * 8 / 20;
    let times = Percentiles::of(pair.replies.iter().map(|(_, time)| *time));
    let outside = alone(&link(), seed, Kind::Cubic, Instant::ZERO, span.clone());
    let told = format!("{inside} with {times:?}, alone {outside:?}");
    assert!(pair.replies.len() > 190, "{told}");
    assert!(
        inside * 100 >= outside.goodput.bits_per_second() * 90,
        "{told}"
    );
    assert!(times.median < outside.requests.median, "{told}");
    assert!(pair.capacity(Direction::Down, span.start).get() > bytes);
}

/// What arrives while a host has no processor keeps its time, is acted on in its order, and nothing is lost.
#[test]
fn a_host_without_a_processor_acts_late_and_completely() {
    let mut pair = Pair::over(link(), 1, 0);
    pair.add(Traffic::bulk(1));
    pair.run_until(at(2));
    let runs = Duration::from_millis(3);
    pair.stall(MOBILE, (runs, Duration::from_millis(100)), at(6));
    pair.run_until(at(6));
    let during = pair.received(1);
    pair.run_until(at(10));
    let after = pair.received(1);
    assert!(during.packets > 500 && during.in_order, "{during:?}");
    assert!(
        after.packets > during.packets + 2_000 && after.in_order,
        "{after:?}"
    );
}
