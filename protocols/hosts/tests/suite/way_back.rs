//! A hop whose way back stands still now and then, and keeps what waits: as cellular ones do.

use std::fmt::Write;

use channel::{Direction, Link};
use rivals::{Kind, Percentiles, alone};
use units::{Duration, Instant};

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair};

const BEGIN: Instant = Instant::from_millis(1_000);
const SPAN: Duration = Duration::from_secs(40);
/// The way back stands still for the last of so many milliseconds, and for so many of them.
const PERIOD: u64 = 5_000;
const STILL: u64 = 2_000;

/// 10 Mbit/s down; up 2 Mbit/s, while it goes.
fn hop() -> Link {
    let recording = |name: &str| {
        let mut text = String::new();
        let (spacing, rests) = if name == "up" { (6, STILL) } else { (1, 0) };
        for at in (0..60_000).step_by(spacing) {
            let skips = name == "down" && at % 6 == 5;
            if !skips && at % PERIOD < PERIOD - rests {
                writeln!(text, "{at}").expect("room");
            }
        }
        Ok(text)
    };
    let side =
        |way| format!("{way} = {{ mahimahi = '{way}', delay = '20 ms', queue = '500 packets' }}\n");
    Link::from_toml_with(&(side("down") + &side("up")), "way-back.toml", &recording)
        .expect("a link")
}

/// A download by CUBIC with a request each 100 ms beside it, to its end.
fn download() -> Pair {
    let mut pair = Pair::over(hop(), 1, 0);
    pair.run_until(BEGIN);
    pair.connect(Ends::new(&Kind::Cubic.config()), (GATEWAY, 1 << 40));
    pair.add_requests(BEGIN);
    pair
}

#[test]
fn copies_do_not_fill_the_way_back_while_it_stands_still() {
    let mut pair = download();
    for rest in 0..8 {
        let still = Instant::from_millis(rest * PERIOD + PERIOD - STILL);
        pair.run_until(still);
        let offered = |pair: &Pair| pair.channel.counters(Direction::Up).offered.bytes.get();
        let before = offered(&pair);
        pair.run_until(still + Duration::from_millis(STILL));
        let sent = offered(&pair) - before;
        // Two seconds of acknowledgements would be 150 kB, of which the first 300 ms have nothing to tell them apart.
        assert!(sent < 45_000, "{sent} bytes in the gap at {still:?}");
    }
}

#[test]
fn what_tcp_repeats_meanwhile_crosses_once() {
    let mut pair = download();
    pair.run_until(BEGIN + SPAN);
    let sent = pair.ends().counters(GATEWAY);
    let hop = pair.status(GATEWAY).hop.stats.sent;
    let told = format!("{:?}, {:?}, {hop:?}", sent.sent, sent.recovered);
    assert!(sent.recovered.timeouts > 5, "{told}");
    assert!(sent.sent.retransmitted_segments > 500, "{told}");
    let crossed = sent.sent.retransmitted_segments - hop.packets_held_already;
    assert!(
        crossed < 50 && hop.packets_dropped < 50,
        "{crossed}, {told}"
    );
}

#[test]
fn a_download_is_as_fast_as_without_the_tunnel_and_requests_are_faster() {
    let mut pair = download();
    pair.run_until(BEGIN + SPAN);
    let goodput = pair.ends().read(MOBILE).0 * 8_000 / SPAN.as_millis();
    let requests = Percentiles::of(pair.replies.iter().map(|(_, time)| *time));
    let [cubic, bbr] =
        [Kind::Cubic, Kind::Bbr].map(|kind| alone(&hop(), 1, kind, BEGIN, BEGIN..BEGIN + SPAN));
    let best = cubic.goodput.max(bbr.goodput).bits_per_second();
    println!("{goodput} of {best}, {requests:?}, {bbr:?}");
    assert!(goodput * 100 >= best * 96, "{goodput} of {best} bit/s");
    assert!(
        requests.median <= bbr.requests.median,
        "{requests:?}, {:?}",
        bbr.requests
    );
    // Nearly all of the longest is a wait for the way back.
    let (own, other) = (requests.p95, bbr.requests.p95);
    assert!(own <= other + Duration::from_millis(100), "{own}, {other}");
}
