//! The time until a hop is used once there is something to send.

use channel::Link;
use hosts::Input;
use machine::RandomStream;
use rivals::Kind;
use units::{BitRate, Bytes, Duration, Instant};

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const STARTS: u64 = 100;
/// Rates in Mbit/s and one-way delays in milliseconds.
const HOPS: [(u64, u64); 5] = [(2, 20), (10, 50), (20, 20), (50, 10), (100, 40)];
/// Hops that hold more than a round of a short download.
const LONG: [(u64, u64); 3] = [(100, 40), (50, 100), (50, 300)];
const WATCHED: Duration = Duration::from_millis(300);

/// A pair across a hop of `rate` Mbit/s and `delay` milliseconds.
fn pair(rate: u64, delay: u64, seed: u64) -> Pair {
    let text = format!(
        "each = {{ rate = '{rate} Mbit/s', delay = '{delay} ms', queue = '1000 packets' }}"
    );
    let link = Link::from_toml(&text, "start.toml").expect("a link");
    Pair::over(link, seed, 0)
}

/// The flow that leaves at a host.
fn traffic(host: usize) -> Traffic {
    if host == MOBILE {
        Traffic::upload(7)
    } else {
        Traffic::bulk(7)
    }
}

/// A few small packets, at any times within two seconds, both ways.
fn chat(pair: &mut Pair, random: &mut RandomStream) {
    let mut traffic = [MOBILE, GATEWAY].map(|host| (host, traffic(host)));
    pair.run_for(Duration::from_millis(300));
    for _ in 0..random.below(8) {
        pair.run_for(Duration::from_millis(random.below(250)));
        for (host, traffic) in &mut traffic {
            let packet = traffic.packet(1 + random.below(400) as usize);
            pair.input(*host, Input::Packet(packet));
        }
    }
    pair.run_for(Duration::from_millis(random.below(500)));
}

/// The share of the rate that a download has 8 round trips and 200 ms after it began.
fn share(pair: &mut Pair, (rate, delay): (u64, u64)) -> f64 {
    pair.add(Traffic::bulk(1));
    pair.run_for(Duration::from_millis(delay) * 16 + Duration::from_millis(200));
    pair.used(1, BitRate::from_megabits(rate), WATCHED)
}

#[test]
fn half_the_rate_comes_soon_whatever_was_sent_before() {
    let mut slow = Vec::new();
    for seed in 0..STARTS {
        let mut random = RandomStream::named(seed, "chat");
        let hop = HOPS[(seed % HOPS.len() as u64) as usize];
        let mut pair = pair(hop.0, hop.1, seed);
        chat(&mut pair, &mut random);
        let share = share(&mut pair, hop);
        if share < 0.5 {
            slow.push(format!("{hop:?}, seed {seed}: {share:.2}"));
        }
    }
    assert!(slow.len() as u64 <= STARTS / 100, "{slow:#?}");
}

/// Minutes with small packets show nothing of the rate.
#[test]
fn half_the_rate_comes_soon_after_minutes_of_little() {
    for hop in HOPS {
        let mut pair = pair(hop.0, hop.1, 1);
        pair.run_for(Duration::from_millis(300));
        pair.add_requests(pair.now);
        pair.run_until(Instant::ZERO + Duration::from_secs(60));
        let share = share(&mut pair, hop);
        assert!(share > 0.5, "{hop:?}: {share:.2}");
    }
}

/// Nothing has been acknowledged yet, but the handshake has shown how long a round trip is.
#[test]
fn a_first_frame_that_is_lost_is_sent_again_after_some_round_trips() {
    for (rate, delay) in HOPS {
        for host in [MOBILE, GATEWAY] {
            let mut pair = pair(rate, delay, 1);
            let delay = Duration::from_millis(delay);
            pair.run_for(delay * 4);
            let mut traffic = traffic(host);
            pair.blackout = pair.now..pair.now + delay;
            let began = pair.now;
            pair.input(host, Input::Packet(traffic.packet(100)));
            while pair.received(7).packets == 0 {
                pair.run_for(Duration::from_millis(1));
            }
            let took = pair.now.since(began);
            assert!(took < delay * 20, "host {host}, {delay}: {took}");
        }
    }
}

/// A gateway that has been started again gets packets for its mobile hosts before these have found out, and programs of
/// a mobile host do not wait for its first keys.
#[test]
fn packets_that_come_before_there_are_keys_cross_when_there_are() {
    for host in [MOBILE, GATEWAY] {
        for is_again in [false, true] {
            let mut pair = pair(10, 20, 1);
            if is_again {
                pair.run_for(Duration::from_secs(2));
                pair.restart(host);
            }
            let mut traffic = traffic(host);
            for _ in 0..3 {
                pair.input(host, Input::Packet(traffic.packet(100)));
            }
            // An idle mobile host would find out by its next keepalive.
            pair.input(MOBILE, Input::Packet(Traffic::upload(8).packet(100)));
            pair.run_for(Duration::from_secs(12));
            let received = pair.received(7);
            // A mobile host shows the connection to its gateway besides.
            assert_eq!(received.payload, 300, "host {host}, again {is_again}");
            assert!(received.in_order, "host {host}, again {is_again}");
        }
    }
}

/// TCP's data in slow start doubles with each round trip, and none of it waits here for another round trip.
#[test]
fn a_short_download_takes_no_round_trip_more_than_slow_start() {
    // Segments of 1,448 bytes, 10 in the first round.
    for (rounds, bytes) in [(3, 100_000), (4, 215_000), (5, 445_000)] {
        for (rate, delay) in LONG {
            let mut pair = pair(rate, delay, 1);
            pair.run_for(Duration::from_secs(1));
            let began = pair.now;
            pair.connect(Ends::new(&Kind::Cubic.config()), (GATEWAY, bytes));
            while pair.ends().read(MOBILE) != (bytes, true) {
                pair.run_for(Duration::from_millis(1));
            }
            let took = pair.now.since(began);
            let delay = Duration::from_millis(delay);
            // Before the rate is known, frames leave at 10 Mbit/s; a tenth of them is headers.
            let first = BitRate::from_megabits(10).time_for(Bytes::new(110_000));
            let rest = BitRate::from_megabits(rate).time_for(Bytes::new(bytes - 100_000)) * 2;
            let bound = delay * 2 * (1 + rounds) + first + rest + Duration::from_millis(5);
            let told = format!("{bytes} at {rate} Mbit/s, {delay}: {took}, bound {bound}");
            println!("{told}");
            assert!(took < bound, "{told}");
        }
    }
}
