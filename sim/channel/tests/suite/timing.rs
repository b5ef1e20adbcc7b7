//! Arrival times of packets, to the nanosecond.

use channel::{Cause, Channel, Direction::Down, Direction::Up, Link};
use machine::Machine;
use units::{Bytes, Duration, Instant};

use crate::common::{delivered, drive, dropped, link};

const MILLI: u64 = 1_000_000;

fn channel(text: &str) -> Channel<usize> {
    Channel::new(&link(text), 1)
}

#[test]
fn packets_are_serialised_one_after_the_other() {
    let mut channel = channel("[each]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '50 packets'");
    let packets = [
        (0, Down, 1514),
        (0, Down, 500),
        (MILLI, Up, 500),
        (20 * MILLI, Down, 250),
    ];
    let log = drive(&mut channel, &packets, 100 * MILLI);
    assert_eq!(
        log,
        [
            (8 * MILLI, delivered(Up, 2)),
            (11_056_000, delivered(Down, 0)),
            (13_056_000, delivered(Down, 1)),
            (26 * MILLI, delivered(Down, 3)),
        ]
    );
    let counters = channel.counters(Down);
    assert_eq!(counters.delivered.packets, 3);
    assert_eq!(counters.delivered.bytes, Bytes::new(2264));
    assert_eq!(counters.wait, Duration::from_micros(6056));
    assert_eq!(counters.queue_peak.packets, 1);
}

#[test]
fn the_rate_is_exact_over_many_packets() {
    // 1 byte at 3 Mbit/s takes 2666 2/3 ns.
    let mut channel = channel("[each]\nrate = '3 Mbit/s'\ndelay = '0'\nqueue = '4000 packets'");
    let packets = vec![(0, Down, 1); 3000];
    let log = drive(&mut channel, &packets, 1000 * MILLI);
    for (number, (at, _)) in log.iter().enumerate() {
        assert_eq!(*at, (8000 * (number as u64 + 1)).div_ceil(3));
    }
}

#[test]
fn a_late_driver_changes_nothing_but_what_it_sees() {
    let text = "[each]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '50 packets'";
    let mut late = channel(text);
    let send = |channel: &mut Channel<usize>, at, payload| {
        let (direction, size) = (Down, Bytes::new(250));
        channel.handle_input(
            at,
            channel::Input::Send {
                direction,
                size,
                payload,
            },
        );
    };
    for number in 0..20 {
        send(&mut late, Instant::ZERO, number);
    }
    // Twenty packets take 20 ms; the driver sleeps through all of it.
    let now = Instant::from_millis(25);
    late.handle_timeout(now);
    for number in 0..20 {
        assert_eq!(late.poll_output(), Some(delivered(Down, number)));
    }
    assert_eq!((late.poll_output(), late.poll_timeout()), (None, None));
}

#[test]
fn packets_that_arrive_together_come_out_in_the_order_of_sending() {
    let mut channel = channel("[each]\nrate = 'unlimited'\ndelay = '1 ms'\nqueue = '1 packet'");
    let log = drive(
        &mut channel,
        &[(0, Up, 9), (0, Down, 9), (0, Up, 9)],
        10 * MILLI,
    );
    let expected = [(Up, 0), (Down, 1), (Up, 2)];
    assert_eq!(
        log,
        expected.map(|(way, number)| (MILLI, delivered(way, number)))
    );
}

#[test]
fn a_full_queue_drops_at_the_tail() {
    let mut by_packets = channel("[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '2 packets'");
    // One is transmitted, two wait, two are refused; after 1 ms there is room for one more.
    let packets = [(0, Down, 250); 5]
        .into_iter()
        .chain([(MILLI, Down, 250), (MILLI, Down, 250)]);
    let log = drive(&mut by_packets, &packets.collect::<Vec<_>>(), 10 * MILLI);
    let expected = [
        (0, dropped(Down, 3, Cause::QueueFull)),
        (0, dropped(Down, 4, Cause::QueueFull)),
        (MILLI, delivered(Down, 0)),
        (MILLI, dropped(Down, 6, Cause::QueueFull)),
        (2 * MILLI, delivered(Down, 1)),
        (3 * MILLI, delivered(Down, 2)),
        (4 * MILLI, delivered(Down, 5)),
    ];
    assert_eq!(log, expected);
    assert_eq!(by_packets.counters(Down).queue_peak.packets, 2);

    let mut by_bytes = channel("[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '3000 B'");
    let packets = [
        (0, Down, 1500),
        (0, Down, 1500),
        (0, Down, 1501),
        (0, Down, 1500),
    ];
    let log = drive(&mut by_bytes, &packets, 100 * MILLI);
    assert_eq!(log[0], (0, dropped(Down, 2, Cause::QueueFull)));
    assert_eq!(by_bytes.counters(Down).queue_peak.bytes, Bytes::new(3000));
}

#[test]
fn half_duplex_air_is_shared_in_turns() {
    let mut channel = channel(
        "medium = 'half-duplex'\n[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '9 packets'",
    );
    let packets = [
        (0, Down, 250),
        (0, Down, 250),
        (0, Down, 250),
        (0, Up, 250),
        (0, Up, 250),
    ];
    let log = drive(&mut channel, &packets, 100 * MILLI);
    let order = [(Down, 0), (Up, 3), (Down, 1), (Up, 4), (Down, 2)];
    let expected: Vec<_> = (1..)
        .zip(order)
        .map(|(millis, (way, number))| (millis * MILLI, delivered(way, number)))
        .collect();
    assert_eq!(log, expected);
}

#[test]
fn half_duplex_directions_may_differ_in_rate() {
    let mut channel = channel(
        "medium = 'half-duplex'\n[down]\nrate = '3 Mbit/s'\ndelay = '0'\nqueue = '9 packets'\n\
         [up]\nrate = '7 Mbit/s'\ndelay = '0'\nqueue = '9 packets'",
    );
    let log = drive(&mut channel, &[(0, Down, 1), (0, Up, 1), (0, Up, 1)], MILLI);
    // 2666.7 ns rounded up where the rate changes; then 1142.9 and 2285.7 ns later.
    let times: Vec<u64> = log.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [2667, 3810, 4953]);
}

#[test]
fn a_schedule_changes_rate_delay_and_queue() {
    let mut channel = channel(
        "[each]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '1 packet'\nrepeat = '40 ms'\n\
         schedule = [{ at = '10 ms', rate = '0 bit/s' }, \
         { at = '20 ms', rate = '1 Mbit/s', delay = '1 ms', queue = '2 packets' }]",
    );
    let packets = [
        // From 9 ms: 1 ms at 2 Mbit/s, nothing for 10 ms, the other half of it at 1 Mbit/s.
        (9 * MILLI, Down, 500),
        // Waits from 21 ms; 1 ms later both queue places are taken.
        (21 * MILLI, Down, 250),
        (21 * MILLI, Down, 250),
        // At 40 ms the schedule repeats.
        (40 * MILLI, Down, 250),
    ];
    let log = drive(&mut channel, &packets, 100 * MILLI);
    let expected = [
        (23 * MILLI, delivered(Down, 0)),
        (25 * MILLI, delivered(Down, 1)),
        (27 * MILLI, delivered(Down, 2)),
        (46 * MILLI, delivered(Down, 3)),
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_shorter_delay_lets_no_packet_overtake() {
    let mut channel = channel(
        "[each]\nrate = 'unlimited'\ndelay = '10 ms'\nqueue = '9 packets'\n\
         schedule = [{ at = '1 ms', delay = '2 ms' }]",
    );
    let packets = [(0, Down, 1), (2 * MILLI, Down, 1), (9 * MILLI, Down, 1)];
    let log = drive(&mut channel, &packets, 100 * MILLI);
    let times: Vec<u64> = log.iter().map(|(at, _)| at / MILLI).collect();
    assert_eq!(times, [10, 10, 11]);
}

#[test]
fn a_mahimahi_trace_says_when_1500_bytes_may_leave() {
    let text = "[each]\nmahimahi = 'cell.trace'\ndelay = '2 ms'\nqueue = '9 packets'";
    let read = |name: &str| match name {
        "cell.trace" => Ok("3\n3\n7\n10\n".to_owned()),
        other => Err(format!("no file {other}")),
    };
    let link = Link::from_toml_with(text, "test.toml", &read).expect("a link");
    let mut channel = Channel::new(&link, 1);
    let packets = [
        (0, Down, 1500),
        // 1,000 bytes of the second opportunity, and the next packet's first 500.
        (0, Down, 1000),
        (0, Down, 1500),
        // Misses 10 ms; the trace repeats, so the next opportunity is at 13 ms.
        (10 * MILLI + 1, Down, 100),
        (10 * MILLI + 2, Down, 100),
        // Just in time for the rest of the opportunity at 13 ms and for the second one then.
        (13 * MILLI, Down, 1500),
        (14 * MILLI, Down, 1),
    ];
    let log = drive(&mut channel, &packets, 100 * MILLI);
    let times: Vec<u64> = log.iter().map(|(at, _)| at / MILLI).collect();
    assert_eq!(times, [5, 5, 9, 15, 15, 15, 19]);
}

#[test]
fn access_occupies_the_air_of_each_packet() {
    let mut channel =
        channel("access = '1 ms'\n[each]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '50 packets'");
    let log = drive(&mut channel, &[(0, Down, 250), (0, Down, 500)], 100 * MILLI);
    assert_eq!(
        log,
        [
            (7 * MILLI, delivered(Down, 0)),
            (10 * MILLI, delivered(Down, 1)),
        ]
    );
}

#[test]
fn what_goes_ahead_keeps_its_order_and_passes_what_waits() {
    let mut channel = channel("[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '4 packets'");
    for payload in 0..5 {
        let (direction, size) = (Down, Bytes::new(250));
        let send = if payload < 3 {
            channel::Input::Send {
                direction,
                size,
                payload,
            }
        } else {
            channel::Input::SendAhead {
                direction,
                size,
                payload,
            }
        };
        channel.handle_input(Instant::ZERO, send);
    }
    channel.handle_timeout(Instant::from_millis(10));
    for payload in [0, 3, 4, 1, 2] {
        assert_eq!(channel.poll_output(), Some(delivered(Down, payload)));
    }
}
