//! Other effects on real hops: random rate processes, jitter, trains, policers, damage, duplicates, and shorter paths.

use channel::{Cause, Channel, Counters, Direction, FaultChanges, Link, Output, ReorderingConfig};
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::common::{Log, drive, link};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;
const DOWN: Direction = Direction::Down;

const UP: &str = "up = { rate = 'unlimited', delay = '1 ms', queue = '10 packets' }\n";

/// Returns a link with `text` as its downward direction.
fn down(text: &str) -> Link {
    link(&format!("{UP}[down]\nqueue = '100 packets'\n{text}"))
}

/// Sends packets of 1,500 bytes, one each `every` nanoseconds, and returns the outputs and counters.
fn flood(link: &Link, seed: u64, every: u64, seconds: u64) -> (Log, Counters) {
    let mut channel = Channel::new(link, seed);
    let count = seconds * SECOND / every;
    let packets: Vec<_> = (0..count).map(|n| (n * every, DOWN, 1_500)).collect();
    let log = drive(&mut channel, &packets, (seconds + 60) * SECOND);
    (log, *channel.counters(DOWN))
}

/// Numbers of the packets that arrived, with their times.
fn arrivals(log: &Log) -> Vec<(u64, usize)> {
    let arrival = |(at, output): &(u64, Output<usize>)| match output {
        Output::Deliver { payload, .. } => Some((*at, *payload)),
        Output::DeliverCorrupted { .. } | Output::Drop { .. } | Output::State { .. } => None,
    };
    log.iter().filter_map(arrival).collect()
}

const MARKOV: &str = "delay = '5 ms'
    process = { model = 'markov', states = [
        { rate = '12 Mbit/s', hold = '400 ms' },
        { rate = '2 Mbit/s', hold = '300 ms' },
        { rate = '0 bit/s', hold = '50 ms' } ] }";
const WALK: &str = "delay = '5 ms'
    process = { model = 'walk', start = '4 Mbit/s', least = '1 Mbit/s', most = '16 Mbit/s',
        every = '100 ms', change = '25 %', chances = 'even' }";

#[test]
fn a_rate_process_carries_what_its_capacity_says() {
    for text in [MARKOV, WALK] {
        let link = down(text);
        for seed in 1..=4 {
            let (log, _) = flood(&link, seed, 400_000, 60);
            let span = Instant::ZERO..Instant::from_millis(60_000);
            let bound = link.capacity(DOWN, seed, span).expect("a rate");
            let before = |(at, _): &&(u64, usize)| *at < 60 * SECOND + 5 * MILLI;
            let got = arrivals(&log).iter().filter(before).count() as u64 * 1_500;
            // Packets that arrive first in an empty queue lose at most one opportunity each.
            let told = format!("{got} of {bound} with seed {seed}, {text}");
            assert!(got <= bound.get() && got * 100 > bound.get() * 99, "{told}");
        }
    }
}

#[test]
fn the_mean_of_a_rate_with_states_is_that_of_its_states() {
    // All states are equally likely, so each counts by its time: (12 x 400 + 2 x 300) / 750 = 7.2 Mbit/s.
    let link = down(MARKOV);
    let span = Instant::ZERO..Instant::from_millis(2_000_000);
    let carried = link.capacity(DOWN, 3, span).expect("a rate");
    let mean = BitRate::of(carried, Duration::from_secs(2_000)).expect("a span");
    let mean = mean.bits_per_second();
    assert!((6_900_000..7_500_000).contains(&mean), "{mean}");
}

#[test]
fn a_walk_stays_within_its_bounds_and_moves() {
    let link = down(WALK);
    let second = |number: u64| {
        let span =
            Instant::from_millis(number * 1_000)..Instant::from_millis(number * 1_000 + 1_000);
        link.capacity(DOWN, 9, span).expect("a rate").get() * 8
    };
    let rates: Vec<_> = (0..100).map(second).collect();
    assert!(
        rates
            .iter()
            .all(|rate| (990_000..16_100_000).contains(rate)),
        "{rates:?}"
    );
    let (least, most) = (rates.iter().min(), rates.iter().max());
    assert!(
        least < Some(&2_500_000) && most > Some(&8_000_000),
        "{rates:?}"
    );
}

#[test]
fn chances_are_the_same_whoever_sends_when() {
    for text in [MARKOV, WALK] {
        let link = down(text);
        let (busy, _) = flood(&link, 5, 300_000, 20);
        let times: Vec<_> = arrivals(&busy).iter().map(|(at, _)| *at).collect();
        // A lone packet after a long pause meets one of the opportunities of the saturated run.
        let mut channel = Channel::new(&link, 5);
        let log = drive(&mut channel, &[(15 * SECOND + 1, DOWN, 1_500)], 60 * SECOND);
        let (at, _) = arrivals(&log)[0];
        assert!(times.binary_search(&at).is_ok(), "{at}, {text}");
        assert_ne!(busy, flood(&link, 6, 300_000, 20).0, "the seed decides");
    }
}

#[test]
fn retries_keep_the_order_and_bunch_packets() {
    let text = "rate = '20 Mbit/s'\ndelay = '5 ms'\njitter = { model = 'retries', spikes = '2 %' }";
    let (log, counters) = flood(&down(text), 1, MILLI, 60);
    let arrivals = arrivals(&log);
    assert!(arrivals.is_sorted_by_key(|(_, number)| *number));
    assert_eq!(counters.delivered, counters.offered);
    let late = |(at, number): &&(u64, usize)| *at - *number as u64 * MILLI > 60 * MILLI;
    let spikes = arrivals.iter().filter(late).count();
    let together = arrivals
        .windows(2)
        .filter(|two| two[0].0 == two[1].0)
        .count();
    assert!(spikes > 1_000 && together > 10_000, "{spikes}, {together}");
}

#[test]
fn uniform_jitter_reorders_where_packets_may_overtake() {
    let jitter =
        "rate = '10 Mbit/s'\ndelay = '20 ms'\njitter = { model = 'uniform', most = '20 ms' }\n";
    for overtaking in [false, true] {
        let text = format!("{jitter}faults = {{ overtaking = {overtaking} }}");
        let (log, counters) = flood(&down(&text), 1, 2 * MILLI, 20);
        let arrivals = arrivals(&log);
        assert_eq!(
            arrivals.is_sorted_by_key(|(_, number)| *number),
            !overtaking
        );
        assert!(arrivals.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(counters.delivered.packets, 10_000);
        let delays = arrivals
            .iter()
            .map(|(at, number)| at - *number as u64 * 2 * MILLI);
        let (least, most) = (delays.clone().min(), delays.max());
        assert!(
            least >= Some(21_200_000) && most <= Some(41_300_000),
            "{least:?} {most:?}"
        );
    }
}

#[test]
fn trains_arrive_together() {
    let text = "rate = '10 Mbit/s'\ndelay = '3 ms'\njitter = { model = 'trains', every = '20 ms' }";
    let (log, counters) = flood(&down(text), 1, 2 * MILLI, 10);
    let arrivals = arrivals(&log);
    assert!(arrivals.iter().all(|(at, _)| at % (20 * MILLI) == 0));
    assert!(arrivals.is_sorted_by_key(|(_, number)| *number));
    assert_eq!(counters.delivered.packets, 5_000);
}

#[test]
fn a_policer_lets_its_rate_and_one_burst_pass() {
    let text =
        "rate = '100 Mbit/s'\ndelay = '5 ms'\npolicer = { rate = '6 Mbit/s', burst = '30 kB' }";
    let link = down(text);
    let (log, counters) = flood(&link, 1, MILLI, 10);
    let passed = counters.delivered.bytes.get();
    let most = 6_000_000 / 8 * 10 + 30_000;
    assert!(
        (most - 3_000..=most).contains(&passed),
        "{passed} of {most}"
    );
    assert_eq!(
        counters.offered.packets,
        counters.delivered.packets + counters.dropped_policer.packets
    );
    let policed = |(_, output): &(u64, Output<usize>)| {
        matches!(
            output,
            Output::Drop {
                cause: Cause::Policer,
                ..
            }
        )
    };
    assert_eq!(
        log.iter().filter(|entry| policed(entry)).count() as u64,
        counters.dropped_policer.packets
    );
    // The first twenty packets are the burst.
    assert!(!log.iter().take(20).any(policed));
    let span = Instant::ZERO..Instant::from_millis(10_000);
    assert_eq!(link.capacity(DOWN, 1, span), Some(Bytes::new(7_500_000)));
}

#[test]
fn packets_are_damaged_and_doubled_by_chance() {
    let text =
        "rate = '20 Mbit/s'\ndelay = '5 ms'\nfaults = { damage = '3 %', duplicates = '5 %' }";
    let link = down(text);
    let (log, counters) = flood(&link, 1, MILLI, 20);
    let (damaged, twice) = (counters.damaged.packets, counters.faults.duplicated.packets);
    assert!((450..750).contains(&damaged), "{damaged}");
    assert!((800..1_150).contains(&twice), "{twice}");
    assert_eq!(counters.delivered.packets + damaged, 20_000);
    assert_eq!(arrivals(&log).len() as u64, 20_000 - damaged + twice);
    assert_eq!(counters.inside.packets, 0);
    let bound = link.capacity(DOWN, 1, Instant::ZERO..Instant::from_millis(1_000));
    assert_eq!(bound, Some(Bytes::new(2_500_000 * 97 / 100)));
}

#[test]
fn exponential_jitter_has_its_mean_with_and_without_order() {
    for overtaking in [false, true] {
        let text = format!(
            "rate = '100 Mbit/s'\ndelay = '5 ms'\njitter = {{ model = 'exponential', mean = '4 ms' }}\n\
             faults = {{ overtaking = {overtaking} }}"
        );
        let (log, counters) = flood(&down(&text), 1, MILLI, 20);
        let arrivals = arrivals(&log);
        assert_eq!(arrivals.len(), 20_000);
        assert_eq!(counters.faults.reordered.packets > 0, overtaking);
        let extra = |(at, number): &(u64, usize)| at - *number as u64 * MILLI - 5_120_000;
        let mean = arrivals.iter().map(extra).sum::<u64>() / 20_000;
        // In order, each packet also waits for the slowest before it.
        let expected = if overtaking {
            3_900_000..4_100_000
        } else {
            7_000_000..12_000_000
        };
        assert!(expected.contains(&mean), "{mean} ns");
    }
}

#[test]
fn packets_that_are_held_back_are_overtaken_and_no_others() {
    let hold = "rate = '100 Mbit/s'\ndelay = '5 ms'\n\
                faults = { reordering = { share = '10 %', hold = '10 ms' } }";
    let (log, counters) = flood(&down(hold), 1, MILLI, 20);
    let arrivals = arrivals(&log);
    let extra = |(at, number): &(u64, usize)| at - *number as u64 * MILLI - 5_120_000;
    let held = arrivals.iter().filter(|arrival| extra(arrival) > 0);
    assert!(held.clone().all(|arrival| extra(arrival) == 10 * MILLI));
    let held = held.count() as u64;
    assert!((1_800..2_200).contains(&held), "{held}");
    // A held packet whose ten followers are held too arrives in its place; that is rare.
    assert!(
        counters.faults.reordered.packets <= held && counters.faults.reordered.packets + 20 > held
    );
}

#[test]
fn corrupted_packets_arrive_with_few_other_bits() {
    let text = "rate = '20 Mbit/s'\ndelay = '5 ms'\nfaults = { corruption = '3 %' }";
    let (log, counters) = flood(&down(text), 1, MILLI, 20);
    let corrupted = log.iter().filter_map(|(_, output)| match output {
        Output::DeliverCorrupted { flips, .. } => Some(*flips),
        Output::Deliver { .. } | Output::Drop { .. } | Output::State { .. } => None,
    });
    let corrupted: Vec<_> = corrupted.collect();
    assert!((500..700).contains(&corrupted.len()), "{}", corrupted.len());
    assert_eq!(counters.faults.corrupted.packets, corrupted.len() as u64);
    assert_eq!(counters.delivered, counters.offered);
    for flips in &corrupted {
        for length in [1, 40, 1_500] {
            let mut bytes = vec![0_u8; length];
            flips.apply(&mut bytes);
            let flipped: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            assert!((1..=8).contains(&flipped), "{flipped} of {length} bytes");
        }
        flips.apply(&mut []);
    }
    assert!(corrupted.windows(2).any(|two| two[0] != two[1]));
}

#[test]
fn one_fault_does_not_change_the_draws_of_another() {
    let of = |faults: &str| {
        let text = format!(
            "rate = '20 Mbit/s'\ndelay = '5 ms'\njitter = {{ model = 'uniform', most = '20 ms' }}\n\
             faults = {{ overtaking = true, duplicates = '5 %', {faults} }}"
        );
        arrivals(&flood(&down(&text), 1, MILLI, 5).0)
    };
    let plain = of("");
    let with = of("corruption = '10 %', reordering = { share = '10 %', hold = '100 ms' }");
    let kept = with
        .iter()
        .filter(|arrival| plain.binary_search(arrival).is_ok());
    // About 0.9 of them are held back by neither, and 0.9 of those are not corrupted.
    let share = kept.count() as f64 / plain.len() as f64;
    assert!((0.75..0.87).contains(&share), "{share}");
}

#[test]
fn what_is_on_its_way_has_a_bound_too() {
    let text = "rate = 'unlimited'\ndelay = '1 s'\njitter = { model = 'uniform', most = '60 s' }";
    let mut channel = Channel::new(&down(text), 1);
    let packets: Vec<_> = (0..10_000).map(|number| (number, DOWN, 50_000)).collect();
    let log = drive(&mut channel, &packets, 100 * SECOND);
    let counters = channel.counters(DOWN);
    let passed = counters.delivered.bytes;
    assert!(
        passed <= Bytes::mebi(256) && passed > Bytes::mebi(255),
        "{passed}"
    );
    assert_eq!(
        counters.dropped_queue.packets + arrivals(&log).len() as u64,
        10_000
    );
}

#[test]
fn faults_of_a_program_replace_those_of_a_link() {
    let link = down("rate = '20 Mbit/s'\ndelay = '5 ms'\nfaults = { duplicates = '5 %' }");
    let changes = FaultChanges {
        duplicates: Some(Probability::default()),
        reordering: Some(ReorderingConfig {
            share: "50 %".parse().expect("a share"),
            hold: Duration::from_millis(7),
        }),
        ..FaultChanges::default()
    };
    assert_eq!(
        link.clone().with_faults(&FaultChanges::default()).as_ref(),
        Ok(&link)
    );
    let changed = link
        .clone()
        .with_faults(&changes)
        .expect("times in their limits");
    let (_, counters) = flood(&changed, 1, MILLI, 5);
    assert_eq!(counters.faults.duplicated.packets, 0);
    assert!(counters.faults.reordered.packets > 1_000);
    let hold = Duration::from_secs(61);
    let share = Probability::default();
    let changes = FaultChanges {
        reordering: Some(ReorderingConfig { share, hold }),
        ..FaultChanges::default()
    };
    let error = link
        .with_faults(&changes)
        .expect_err("too long")
        .to_string();
    assert!(error.contains("`faults.reordering.hold`"), "{error}");
}

#[test]
fn on_a_shorter_path_packets_overtake_or_wait() {
    let steps =
        "rate = '10 Mbit/s'\ndelay = '60 ms'\nschedule = [{ at = '1 s', delay = '10 ms' }]\n";
    for overtaking in [false, true] {
        let text = format!("{steps}faults = {{ overtaking = {overtaking} }}");
        let (log, _) = flood(&down(&text), 1, 2 * MILLI, 2);
        let arrivals = arrivals(&log);
        assert_eq!(
            arrivals.is_sorted_by_key(|(_, number)| *number),
            !overtaking
        );
        // The first packet of the new path: numbers from 500 on leave after 1 s.
        let first = arrivals
            .iter()
            .find(|(_, number)| *number == 501)
            .expect("it arrives")
            .0;
        assert_eq!(first < SECOND + 20 * MILLI, overtaking, "{first}");
    }
}

fn refuse(cases: &[(&str, &str)]) {
    for (text, place) in cases {
        let text = format!("{UP}[down]\nqueue = '100 packets'\n{text}");
        let error = Link::from_toml(&text, "test.toml")
            .expect_err(&text)
            .to_string();
        assert!(error.contains(place), "{error}");
    }
    for text in [
        "jitter = { model = 'sideways' }",
        "faults = { damage = 'much' }",
        "process = { model = 'walk' }",
    ] {
        let text =
            format!("{UP}[down]\nqueue = '1 packet'\ndelay = '1 ms'\nrate = '1 Mbit/s'\n{text}");
        assert!(Link::from_toml(&text, "test.toml").is_err(), "{text}");
    }
}

#[test]
fn jitter_and_faults_without_sense_are_refused_with_their_place() {
    refuse(&[
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\njitter = { model = 'uniform', most = '0 s' }",
            "`down.jitter.most`",
        ),
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\njitter = { model = 'trains', every = '2 min' }",
            "`down.jitter.every`",
        ),
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\njitter = { model = 'exponential', mean = '61 s' }",
            "`down.jitter.mean`",
        ),
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\n\
             faults = { reordering = { share = '1 %', hold = '0 s' } }",
            "`down.faults.reordering.hold`",
        ),
    ]);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let cases = [
        (
            "delay = '1 ms'\nprocess = { model = 'markov', states = [] }",
            "`down.process.states`",
        ),
        (
            "delay = '1 ms'\nprocess = { model = 'markov', states = [{ rate = '0 bit/s', hold = '1 s' }] }",
            "`down.process.states`",
        ),
        (
            "delay = '1 ms'\nprocess = { model = 'markov', states = [{ rate = '1 Mbit/s', hold = '1 us' }] }",
            "`down.process.states[0].hold`",
        ),
        (
            "delay = '1 ms'\nprocess = { model = 'markov', states = [{ rate = '9 Gbit/s', hold = '1 s' }] }",
            "`down.process.states[0].rate`",
        ),
        (
            "delay = '1 ms'\nprocess = { model = 'walk', start = '1 Mbit/s', least = '2 Mbit/s', \
             most = '3 Mbit/s', every = '1 s', change = '10 %' }",
            "`down.process.start`",
        ),
        (
            "delay = '1 ms'\nprocess = { model = 'walk', start = '1 Mbit/s', least = '0 bit/s', \
             most = '3 Mbit/s', every = '1 s', change = '10 %' }",
            "`down.process.least`",
        ),
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\n\
             process = { model = 'markov', states = [{ rate = '1 Mbit/s', hold = '1 s' }] }",
            "`down.rate`",
        ),
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\npolicer = { rate = '0 bit/s', burst = '10 kB' }",
            "`down.policer.rate`",
        ),
        (
            "delay = '1 ms'\nrate = '1 Mbit/s'\npolicer = { rate = '1 Mbit/s', burst = '1 kB' }",
            "`down.policer.burst`",
        ),
    ];
    refuse(&cases);
}
