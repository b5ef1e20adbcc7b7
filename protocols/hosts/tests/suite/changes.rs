//! A hop that changes under a running download: how soon it is used as one that has always been so.

use channel::{Direction, Link};
use units::{BitRate, Duration, Instant};

use crate::support::{Pair, Traffic};

const SEED: u64 = 5;
/// From the beginning of the download to the change: what a change finds the hop doing decides much.
const CHANGES: [Duration; 2] = [Duration::from_millis(5_000), Duration::from_millis(9_101)];
/// A share is taken over so long.
const WATCHED: Duration = Duration::from_millis(300);
const SECOND: Duration = Duration::from_secs(1);
/// Share of payload in the bytes of a full hop; the rest are headers, inner and outer.
const PAYLOAD: f64 = 0.94;
/// A rate in Mbit/s and a round trip in milliseconds.
type Hop = (u64, u64);

/// A download across a hop that changes by `steps`, until just before the first of them.
fn download((rate, trip): Hop, at: Duration, steps: &str) -> Pair {
    let delay = trip / 2;
    let each = format!("rate = '{rate} Mbit/s', delay = '{delay} ms', queue = '1000 packets'");
    let text = format!("each = {{ {each}, schedule = [{steps}] }}");
    let link = Link::from_toml(&text, "changes.toml").expect("a link");
    let mut pair = Pair::over(link, SEED, 0);
    pair.add(Traffic::bulk(1));
    pair.run_until(Instant::ZERO + at);
    pair
}

/// A step of a schedule.
fn step(at: Duration, change: &str) -> String {
    format!("{{ at = '{} ms', {change} }},", at.as_millis())
}

fn rate_step(at: Duration, rate: u64) -> String {
    step(at, &format!("rate = '{rate} Mbit/s'"))
}

/// The share of `rate` Mbit/s that is used after so long.
fn share(pair: &mut Pair, rate: u64, (after, watched): (Duration, Duration)) -> f64 {
    pair.run_for(after);
    pair.used(1, BitRate::from_megabits(rate), watched) / PAYLOAD
}

/// Prints what each row gives for a change at each of [`CHANGES`], and fails if some of it is marked as bad.
fn check<Row: Copy>(
    rows: impl IntoIterator<Item = Row>,
    result: impl Fn(Row, Duration) -> (bool, String),
) {
    let mut bad = Vec::new();
    for row in rows {
        for at in CHANGES {
            let (good, told) = result(row, at);
            let told = format!("{told}, changed after {at}");
            println!("{told}");
            if !good {
                bad.push(told);
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// A share of the new rate that must be used at the deadline.
fn is_used(name: &str, share: f64, least: f64) -> (bool, String) {
    (share >= least, format!("{name}: {share:.2}"))
}

/// The aim is for 40 ms; it is reached with 10 and 100 ms too, and not with 300 ms.
#[test]
fn three_times_the_rate_is_used_within_a_second() {
    let row = |(from, to, trip): (u64, u64, u64), at| {
        let mut pair = download((from, trip), at, &rate_step(at, to));
        let share = share(&mut pair, to, (SECOND, WATCHED));
        is_used(&format!("{from} to {to} Mbit/s, {trip} ms"), share, 0.8)
    };
    let rows = [
        (1, 3, 40),
        (5, 15, 10),
        (5, 15, 40),
        (5, 15, 100),
        (20, 60, 10),
        (20, 60, 40),
        (20, 60, 100),
    ];
    check(rows, row);
}

/// A second after the rate has fallen the queue is as on a steady hop, and stays so.
#[test]
fn a_fifth_of_the_rate_leaves_no_queue() {
    let row = |(from, to, trip): (u64, u64, u64), at| {
        let mut pair = download((from, trip), at, &rate_step(at, to));
        pair.run_for(SECOND);
        let (waits, good) = pair.watch_queue(SECOND * 4, BitRate::from_megabits(to));
        (good, format!("{from} to {to} Mbit/s, {trip} ms: {waits}"))
    };
    let rows = [
        (20, 4, 10),
        (20, 4, 40),
        (20, 4, 100),
        (50, 10, 40),
        (50, 10, 100),
        (10, 2, 10),
        (10, 2, 40),
        (10, 2, 100),
    ];
    check(rows, row);
}

const OUTAGES: [(Hop, u64); 7] = [
    ((5, 40), 1),
    ((5, 40), 10),
    ((5, 40), 60),
    ((20, 40), 10),
    ((20, 100), 1),
    ((20, 100), 60),
    ((60, 10), 1),
];

/// A second and four round trips after its end a hop is to be used again.
fn soon((_, trip): Hop) -> Duration {
    SECOND + Duration::from_millis(trip) * 4
}

#[test]
fn it_goes_on_after_an_outage_that_lost_all() {
    let row = |(hop, seconds): (Hop, u64), at| {
        let mut pair = download(hop, at, "");
        let outage = SECOND * seconds;
        pair.blackout = pair.now..pair.now + outage;
        pair.run_for(outage);
        let share = share(&mut pair, hop.0, (soon(hop), WATCHED));
        is_used(&format!("{hop:?}, {seconds} s"), share, 0.8)
    };
    let more = [((60, 10), 60)];
    check(OUTAGES.into_iter().chain(more), row);
}

/// A download across a hop that has just stood still for so long, and has kept what was on it.
fn stalled(hop: Hop, at: Duration, stall: Duration) -> Pair {
    let steps = rate_step(at, 0) + &rate_step(at + stall, hop.0);
    let mut pair = download(hop, at, &steps);
    pair.run_for(stall);
    pair
}

fn dropped(pair: &Pair) -> u64 {
    pair.channel.counters(Direction::Down).dropped_queue.packets
}

/// In the last two rows the queue runs over meanwhile.
#[test]
fn it_goes_on_after_a_stall_that_kept_what_was_on_the_hop() {
    let row = |(hop, seconds): (Hop, u64), at| {
        let mut pair = stalled(hop, at, SECOND * seconds);
        let share = share(&mut pair, hop.0, (soon(hop), WATCHED));
        is_used(
            &format!("{hop:?}, {seconds} s, {} dropped", dropped(&pair)),
            share,
            0.8,
        )
    };
    let more = [((60, 10), 10), ((40, 40), 10)];
    check(OUTAGES.into_iter().chain(more), row);
}

/// A row is the rate in Mbit/s, the round trip in milliseconds before and after, and the share that is used in the
/// second that begins two seconds after the change.
///
/// The aim is 0.8 of the rate. A path that is longer by 44 ms reaches that from 20 and 40 ms. From 100 ms it may have
/// 0.77 at 60 Mbit/s: a test of whose the wait is then cuts the window for a tenth of a second.
#[test]
fn another_path_is_used_within_two_seconds() {
    let row = |(rate, from, to, least): (u64, u64, u64, f64), at| {
        let steps = step(at, &format!("delay = '{} ms'", to / 2));
        let mut pair = download((rate, from), at, &steps);
        let share = share(&mut pair, rate, (SECOND * 2, SECOND));
        is_used(&format!("{rate} Mbit/s, {from} to {to} ms"), share, least)
    };
    let rows = [
        (5, 20, 64, 0.8),
        (20, 20, 64, 0.8),
        (60, 20, 64, 0.8),
        (5, 40, 84, 0.8),
        (20, 40, 84, 0.8),
        (60, 40, 84, 0.8),
        (5, 100, 144, 0.8),
        (20, 100, 144, 0.8),
        (60, 100, 144, 0.75),
        (5, 40, 10, 0.8),
        (20, 40, 10, 0.8),
        (5, 100, 70, 0.8),
    ];
    check(rows, row);
}
