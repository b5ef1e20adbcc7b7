//! Outages of a whole hop, from the bad periods of its two directions.

use channel::{Direction, Link, Outage};
use units::{Duration, Instant};

/// A link whose directions replay these files.
fn scripted(down: &str, up: &str) -> Link {
    let direction = |name: &str| {
        format!(
            "[{name}]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
             [{name}.errors]\nmodel = \"replay\"\nfile = \"{name}\"\n"
        )
    };
    let text = [direction("down"), direction("up")].concat();
    let read = |name: &str| Ok(if name == "down" { down } else { up }.to_owned());
    Link::from_toml_with(&text, "scripted.toml", &read).expect("a link")
}

fn outages(link: &Link, count: usize) -> Vec<(u64, Option<u64>)> {
    let millis = |at: Instant| at.since_origin().as_millis();
    link.outages(1)
        .take(count)
        .map(|Outage { from, until }| (millis(from), until.map(millis)))
        .collect()
}

#[test]
fn bad_periods_of_both_directions_join() {
    let link = scripted(
        "1 s bad\n2 s good\n5 s bad\n6 s good\n9 s bad\n10 s good",
        "1.5 s bad\n3 s good\n6 s bad\n7 s good\n8 s bad\n8.5 s good",
    );
    let expected = [
        (1_000, 3_000),
        (5_000, 7_000),
        (8_000, 8_500),
        (9_000, 10_000),
    ];
    assert_eq!(
        outages(&link, 9),
        expected.map(|(from, until)| (from, Some(until)))
    );
}

#[test]
fn an_outage_may_never_end() {
    let link = scripted(
        "1 s bad\n2 s good\n3 s bad",
        "2.5 s bad\n4 s good\n5 s bad\n6 s good",
    );
    assert_eq!(outages(&link, 9), [(1_000, Some(2_000)), (2_500, None)]);
    assert_eq!(outages(&scripted("", ""), 9), []);
}

#[test]
fn drawn_outages_are_those_that_packets_meet() {
    let clean = Link::named("l2-clean").expect("a link");
    assert_eq!(clean.outages(1).next(), None);
    let link = Link::named("l2-b80").expect("a link");
    let outages: Vec<_> = link.outages(7).take(100).collect();
    let end = outages[99].until.expect("it ends");
    let bad = Direction::BOTH.map(|direction| {
        let timeline = link.timeline(direction, 7).expect("it fades");
        end.since_origin() - timeline.good_time(Instant::ZERO, end)
    });
    let total: Duration = outages
        .iter()
        .filter_map(|outage| Some(outage.until? - outage.from))
        .sum();
    assert!(total >= bad[0].max(bad[1]) && total <= bad[0] + bad[1]);
}
