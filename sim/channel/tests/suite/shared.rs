//! One medium for a gateway and several mobile hosts.

use channel::shared::{Input, Output, SharedChannel};
use channel::{Cause, Direction, Link};
use machine::{Machine, conformance};
use units::{Bytes, Duration, Instant};

use crate::common::link;

const PLAIN: &str = "[each]\nrate = '8 Mbit/s'\ndelay = '5 ms'\nqueue = '10 packets'\n";
const FADING: &str = "[each]\nrate = '8 Mbit/s'\ndelay = '5 ms'\nqueue = '1000 packets'\n\
    [errors]\nmodel = 'temporal'\ngood = { distribution = 'exponential', mean = '50 ms' }\n\
    bad = { distribution = 'exponential', mean = '50 ms' }\n";
/// With this line, all hosts take turns on one medium.
const HALF_DUPLEX: &str = "medium = 'half-duplex'\n";

fn air(text: &str, mobiles: usize) -> SharedChannel<usize> {
    let link = link(text);
    SharedChannel::new(&link, 1, &vec![&link; mobiles])
}

/// A packet takes 1 ms.
fn packet(direction: Direction, mobile: usize, payload: usize) -> Input<usize> {
    let size = Bytes::new(1000);
    Input {
        direction,
        mobile,
        size,
        payload,
    }
}

/// Sends all packets at time zero; returns the outputs with their times in milliseconds.
fn all_at_once(
    channel: &mut SharedChannel<usize>,
    packets: impl IntoIterator<Item = (Direction, usize)>,
) -> Vec<(u64, Output<usize>)> {
    for (number, (direction, mobile)) in packets.into_iter().enumerate() {
        channel.handle_input(Instant::ZERO, packet(direction, mobile, number));
    }
    let mut log = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while let Some(output) = channel.poll_output() {
            log.push((now.as_nanos() / 1_000_000, output));
        }
        let Some(due) = channel.poll_timeout() else {
            return log;
        };
        now = due;
        channel.handle_timeout(now);
    }
}

fn times(log: &[(u64, Output<usize>)]) -> Vec<(u64, usize)> {
    let arrived = log.iter().filter(|(_, output)| output.lost.is_none());
    arrived.map(|(at, output)| (*at, output.payload)).collect()
}

#[test]
fn the_gateway_has_one_queue_and_an_air_of_its_own() {
    use Direction::{Down, Up};
    let mut channel = air(PLAIN, 3);
    let sent = [(Down, 0), (Down, 2), (Up, 1), (Down, 0), (Up, 2)];
    let log = all_at_once(&mut channel, sent);
    assert_eq!(times(&log), [(6, 0), (6, 2), (7, 1), (7, 4), (8, 3)]);
    assert_eq!(log[2].1.mobile, 2);
}

#[test]
fn who_has_something_takes_turns_packet_by_packet() {
    use Direction::{Down, Up};
    let mut channel = air(&format!("{HALF_DUPLEX}{PLAIN}"), 2);
    let sent = [(Down, 0), (Down, 1), (Down, 0), (Up, 0), (Up, 0), (Up, 1)];
    let log = all_at_once(&mut channel, sent);
    let order = [(6, 0), (7, 1), (8, 3), (9, 5), (10, 2), (11, 4)];
    assert_eq!(times(&log), order);
    let airtime = |direction, mobile| channel.airtime(direction, mobile).as_millis();
    assert_eq!((airtime(Down, 0), airtime(Up, 1)), (2, 1));
}

#[test]
fn a_full_queue_of_the_gateway_drops_whosever_packet_comes() {
    let mut channel = air(PLAIN, 2);
    let sent = (0..14).map(|number| (Direction::Down, usize::from(number > 11)));
    let log = all_at_once(&mut channel, sent);
    let dropped = |mobile| {
        let full = Some(Cause::QueueFull);
        let of = |output: &Output<usize>| output.mobile == mobile && output.lost == full;
        log.iter().filter(|(_, output)| of(output)).count() as u64
    };
    // One packet is on the air, and ten wait.
    assert_eq!((dropped(0), dropped(1)), (1, 2));
    for mobile in 0..2 {
        let counters = channel.counters(Direction::Down, mobile);
        let ended = counters.delivered.packets + counters.dropped_queue.packets;
        assert_eq!(counters.offered.packets, ended);
        assert_eq!(counters.dropped_queue.packets, dropped(mobile));
    }
}

#[test]
fn a_lost_packet_occupies_the_air() {
    let (plain, lossy) = (
        link(PLAIN),
        link(&format!(
            "{PLAIN}[errors]\nmodel = 'independent'\np = '100 %'"
        )),
    );
    let mut channel = SharedChannel::new(&plain, 1, &[&lossy, &plain]);
    let log = all_at_once(
        &mut channel,
        (0..4).map(|mobile| (Direction::Down, mobile % 2)),
    );
    assert_eq!(times(&log), [(7, 1), (9, 3)]);
    assert_eq!(channel.airtime(Direction::Down, 0).as_millis(), 2);
}

/// Returns the losses of a mobile host that gets a packet each 10 ms, among `mobiles` mobile hosts.
fn fades(mobile: usize, mobiles: usize) -> (Vec<bool>, Duration) {
    let mut channel = air(FADING, mobiles);
    let mut lost = Vec::new();
    for number in 0..300 {
        let now = Instant::from_millis(number * 10);
        channel.handle_input(now, packet(Direction::Down, mobile, 0));
        channel.handle_timeout(now + Duration::from_millis(6));
        lost.extend(std::iter::from_fn(|| channel.poll_output()).map(|out| out.lost.is_some()));
    }
    let way = (Direction::Down, mobile);
    (
        lost,
        channel.good_time(way, Instant::ZERO, Instant::from_millis(3_000)),
    )
}

#[test]
fn equal_numbers_meet_equal_fades_however_many_there_are() {
    assert_eq!(fades(1, 2), fades(1, 8));
    assert_ne!(fades(0, 8), fades(1, 8));
    let (lost, good) = fades(3, 8);
    assert_eq!(lost.len(), 300);
    assert!((500..2_500).contains(&good.as_millis()), "{good}");
}

#[test]
fn every_named_link_conforms() {
    for link in channel::links::all() {
        let script: Vec<_> = (0..300)
            .map(|number: usize| {
                let direction = Direction::BOTH[number % 2];
                let delay = Duration::from_micros(number as u64 % 7 * 900);
                (delay, packet(direction, number % 5, number))
            })
            .collect();
        let build = || SharedChannel::new(&link, 3, &[&link; 5]);
        conformance::check(build, &script, Duration::from_secs(2));
    }
}

#[test]
fn with_one_mobile_host_it_is_the_channel_of_two() {
    for name in ["l2-b80", "wifi-edge", "l3-p5"] {
        let link = Link::named(name).expect("known");
        let mut shared = SharedChannel::new(&link, 1, &[&link]);
        let mut channel = channel::Channel::new(&link, 1);
        for number in 0..50 {
            let at = Instant::from_millis(number);
            let (direction, size, payload) = (Direction::Down, Bytes::new(1000), 0);
            shared.handle_input(at, packet(direction, 0, 0));
            let send = channel::Input::Send {
                direction,
                size,
                payload,
            };
            channel.handle_input(at, send);
            assert_eq!(shared.poll_timeout(), channel.poll_timeout(), "{name}");
        }
    }
}
