//! The largest packet of a direction.

use channel::{Cause, Channel, Direction, Input, Link, Output};
use machine::Machine;
use units::{Bytes, Instant};

const HEADER: usize = 14;
const LINK: &str = "[down]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '9 packets'\nmtu = 1460\n\
    schedule = [{ at = '1 s', mtu = 1280 }, { at = '2 s', delay = '6 ms' }, { at = '3 s', mtu = 9000 }]\n\
    [up]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '9 packets'\n";

/// Returns true if an IP packet of `length` bytes, sent at this second, passes.
fn passes(channel: &mut Channel<()>, second: u64, length: usize, direction: Direction) -> bool {
    let now = Instant::from_millis(second * 1_000 + 500);
    let size = Bytes::from(length + HEADER);
    let payload = ();
    let input = Input::Send {
        direction,
        size,
        payload,
    };
    channel.handle_input(now, input);
    if let Some(arrival) = channel.poll_timeout() {
        channel.handle_timeout(arrival);
    }
    match channel.poll_output() {
        Some(Output::Deliver { .. }) => true,
        Some(Output::Drop { cause, .. }) => {
            assert_eq!(cause, Cause::TooLong);
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn longer_packets_are_dropped_for_their_length_and_counted() {
    let link = Link::from_toml(LINK, "link.toml").expect("a link");
    let mut channel = Channel::new(&link, 1);
    for (second, largest) in [(0, 1460), (1, 1280), (2, 1280), (3, 9000)] {
        assert!(passes(&mut channel, second, largest, Direction::Down));
        assert!(!passes(&mut channel, second, largest + 1, Direction::Down));
        assert!(
            passes(&mut channel, second, 20_000, Direction::Up),
            "no bound is given there"
        );
    }
    let counters = channel.counters(Direction::Down);
    assert_eq!(counters.dropped_too_long.packets, 4);
    assert_eq!(
        (counters.offered.packets, counters.delivered.packets),
        (8, 4)
    );
    assert_eq!(counters.dropped_queue.packets, 0);
}

#[test]
fn an_mtu_that_no_packet_has_is_refused() {
    for mtu in ["67", "65536", "-1", "'1500'"] {
        let text = LINK.replace("mtu = 1460", &format!("mtu = {mtu}"));
        let error = Link::from_toml(&text, "link.toml")
            .expect_err("no MTU")
            .to_string();
        assert!(
            error.contains("link.toml")
                && (error.contains("68 to 65535") || error.contains("expected i64")),
            "{error}"
        );
    }
}
