//! The contract of a machine, conservation of packets, and no allocation per packet.

use channel::{Channel, Direction, Input, Link, Output};
use machine::{Machine, conformance};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};

use crate::common::{drive, link};

#[test]
fn every_named_link_conforms() {
    for link in channel::links::all() {
        let script: Vec<_> = (0..200u64)
            .map(|number| {
                let direction = if number % 3 == 0 {
                    Direction::Up
                } else {
                    Direction::Down
                };
                let size = Bytes::new(60 + number * 7 % 1450);
                let delay = Duration::from_micros(number % 7 * 900);
                let send = Input::Send {
                    direction,
                    size,
                    payload: number,
                };
                (delay, send)
            })
            .collect();
        let plain = || Channel::new(&link, 3);
        conformance::check(plain, &script, Duration::from_secs(2));
        let noted = || Channel::new(&link, 3).with_state_notes();
        conformance::check(noted, &script, Duration::from_secs(2));
    }
}

#[test]
fn a_packet_in_steady_state_allocates_nothing() {
    for name in [
        "l3-b80",
        "l3-p1",
        "ton97-burst4",
        "mtcp00-wireless",
        "lte-driving",
    ] {
        let mut channel = Channel::new(&Link::named(name).expect("known"), 1);
        let mut run = |from: u64, to: u64| {
            for milli in from..to {
                let now = Instant::from_millis(milli);
                channel.handle_timeout(now);
                while channel.poll_output().is_some() {}
                let (direction, size) = (Direction::Down, Bytes::new(1500));
                channel.handle_input(
                    now,
                    Input::Send {
                        direction,
                        size,
                        payload: milli,
                    },
                );
            }
        };
        run(0, 5_000);
        let measured = allocation_counter::measure(|| run(5_000, 10_000));
        assert_eq!(measured.count_total, 0, "{name}");
    }
}

fn packets() -> impl Strategy<Value = Vec<(u64, bool, u64)>> {
    prop::collection::vec((0u64..20_000_000, any::<bool>(), 0u64..70_000), 0..200)
}

fn errors() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "model = 'none'",
        "model = 'independent', p = 0.3",
        "model = 'temporal', good = { distribution = 'uniform', mean = '20 ms' }, \
         bad = { distribution = 'exponential', mean = '7 ms' }, tick = '5 ms', loss_good = 0.1",
        "model = 'distance', mean = '20 kB'",
        "model = 'burst', packets = 3, spacing = '1 B'",
        "model = 'markov', p_b = 0.01, p_g = 0.5",
    ])
}

fn rates() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "rate = 'unlimited'",
        "rate = '3 Mbit/s'",
        "rate = '1 bit/s'",
        "rate = '1 Mbit/s', repeat = '30 ms', schedule = [{ at = '7 ms', rate = '0', delay = '0' }, \
         { at = '9 ms', rate = 'unlimited', queue = '1 packet' }, { at = '20 ms', rate = '7 Mbit/s' }]",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packets_are_conserved_and_keep_their_order(
        packets in packets(), errors in errors(), rate in rates(),
        half_duplex: bool, seed: u64, end in 0u64..10_000_000_000,
    ) {
        let medium = if half_duplex { "half-duplex" } else { "separate" };
        let mut channel = Channel::new(&link(&format!(
            "medium = '{medium}'\nerrors = {{ {errors} }}\n\
             each = {{ {rate}, delay = '3 ms', queue = '64 KiB' }}"
        )), seed);
        let mut now = 0;
        let packets: Vec<_> = packets.into_iter().map(|(gap, up, size)| {
            now += gap;
            (now, if up { Direction::Up } else { Direction::Down }, size)
        }).collect();
        let log = drive(&mut channel, &packets, now + end);
        for direction in Direction::BOTH {
            let counters = channel.counters(direction);
            let dropped = [counters.dropped_air, counters.dropped_queue, counters.dropped_too_long];
            let parts = dropped.into_iter().chain([counters.delivered, counters.inside]);
            prop_assert_eq!(counters.offered.packets, parts.clone().map(|part| part.packets).sum::<u64>());
            prop_assert_eq!(counters.offered.bytes, parts.map(|part| part.bytes).sum());
            // Waiting packets are never forgotten.
            prop_assert!(channel.poll_timeout().is_some() || counters.inside.packets == 0);
            let offered = packets.iter().filter(|(_, way, _)| *way == direction).count();
            prop_assert_eq!(counters.offered.packets, offered as u64);
            let arrived: Vec<usize> = log.iter().filter_map(|(_, output)| match output {
                Output::Deliver { direction: way, payload } if *way == direction => Some(*payload),
                _ => None,
            }).collect();
            prop_assert_eq!(arrived.len() as u64, counters.delivered.packets);
            prop_assert!(arrived.is_sorted());
        }
    }
}
