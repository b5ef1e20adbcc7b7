use std::net::Ipv4Addr;

use bytes::Bytes as Content;
use channel::Link;

use super::*;

const SECOND: u64 = 1_000;

/// Returns fades that are good from 0 s to 1 s, bad until 1.1 s, and so on.
fn fades(holds: bool, tells: bool) -> Fades {
    let text = "each = { rate = '1 Mbit/s', delay = '0 ms', queue = '9 packets' }\n[errors]\n\
        model = 'temporal'\ngood = { distribution = 'deterministic', mean = '1 s' }\n\
        bad = { distribution = 'deterministic', mean = '100 ms' }\n";
    let link = Link::from_toml(text, "test").unwrap();
    Fades::new(link.timeline(Direction::Down, 1), holds, tells)
}

fn packet() -> Packet {
    Packet::Ip {
        hosts: [Ipv4Addr::LOCALHOST; 2],
        bytes: Content::from_static(b"packet"),
    }
}

#[test]
fn what_comes_in_the_bad_state_is_lost_both_ways() {
    let mut fades = fades(false, false);
    for (at, direction, passes) in [
        (SECOND - 1, Direction::Up, true),
        (SECOND, Direction::Up, false),
        (SECOND + 99, Direction::Down, false),
        (SECOND + 100, Direction::Down, true),
    ] {
        fades.pass(Instant::from_millis(at), direction, packet());
        assert_eq!(fades.poll().is_some(), passes, "{at} ms");
        assert_eq!(fades.poll_timeout(), None);
    }
    assert_eq!(fades.lost(), 2);
}

#[test]
fn what_is_held_leaves_in_its_order_when_the_good_state_returns() {
    let mut fades = fades(true, false);
    fades.pass(Instant::from_millis(SECOND), Direction::Up, packet());
    fades.pass(Instant::from_millis(SECOND + 50), Direction::Down, packet());
    assert!(fades.poll().is_none());
    let end = Instant::from_millis(SECOND + 100);
    assert_eq!(fades.poll_timeout(), Some(end));
    fades.handle_timeout(end);
    let ways: Vec<_> = std::iter::from_fn(|| fades.poll())
        .map(|(way, _)| way)
        .collect();
    assert_eq!(ways, [Direction::Up, Direction::Down]);
    assert_eq!((fades.lost(), fades.poll_timeout()), (0, None));
}

#[test]
fn changes_are_told_where_somebody_listens() {
    let mut fades = fades(true, true);
    let mut told = Vec::new();
    for _ in 0..4 {
        let at = fades.poll_timeout().unwrap();
        fades.handle_timeout(at);
        told.extend(
            fades
                .poll_news()
                .map(|news| (at.as_nanos() / 1_000_000, news)),
        );
    }
    let ended = LinkEvent::FadeEnded { kept: true };
    let expected = [
        (1_000, LinkEvent::FadeBegan),
        (1_100, ended),
        (2_100, LinkEvent::FadeBegan),
        (2_200, ended),
    ];
    assert_eq!(told, expected);
}
