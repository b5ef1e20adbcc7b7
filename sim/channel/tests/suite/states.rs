//! State changes in time: a function of the seed, not of the traffic.

use channel::errors::StateChange;
use channel::{Cause, Channel, Direction::Down, Direction::Up, Link, Output};
use units::{Duration, Instant};

use crate::common::{delivered, drive, dropped, link};

const MILLI: u64 = 1_000_000;

fn fading(errors: &str) -> Link {
    link(&format!(
        "[each]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '50 packets'\n[errors]\n{errors}"
    ))
}

const EXPONENTIAL: &str = "model = 'temporal'\n\
    good = { distribution = 'exponential', mean = '100 ms' }\n\
    bad = { distribution = 'exponential', mean = '20 ms' }\n";

fn changes(channel: &Channel<usize>, end: Instant) -> Vec<StateChange> {
    channel.state_changes(Down, end).collect()
}

#[test]
fn traffic_does_not_change_the_states() {
    let end = Instant::from_millis(10_000);
    let link = fading(EXPONENTIAL);
    let mut notes = Vec::new();
    for gap in [u64::MAX, 900_000, 7 * MILLI] {
        let mut channel = Channel::new(&link, 5).with_state_notes();
        let packets: Vec<_> = (0..(end.as_nanos() / gap))
            .map(|number| (number * gap, if number % 3 == 0 { Up } else { Down }, 1500))
            .collect();
        let told: Vec<_> = drive(&mut channel, &packets, end.as_nanos())
            .into_iter()
            .filter_map(|(at, output)| match output {
                Output::State {
                    direction: Down,
                    change,
                } => {
                    assert_eq!(at, change.at.as_nanos());
                    Some(change)
                }
                Output::State { .. }
                | Output::Deliver { .. }
                | Output::DeliverCorrupted { .. }
                | Output::Drop { .. } => None,
            })
            .collect();
        assert_eq!(told, changes(&channel, end));
        notes.push(told);
    }
    assert!(notes[0].len() > 100);
    assert!(notes.windows(2).all(|pair| pair[0] == pair[1]));
    assert_ne!(notes[0], changes(&Channel::new(&link, 6), end));
}

#[test]
fn directions_share_a_state_or_have_their_own() {
    let end = Instant::from_millis(5_000);
    let both = |errors: &str| {
        let channel: Channel<usize> = Channel::new(&fading(errors), 5);
        let up: Vec<_> = channel.state_changes(Up, end).collect();
        (changes(&channel, end), up)
    };
    let (down, up) = both(EXPONENTIAL);
    assert_eq!(down, up);
    let (down, up) = both(&format!("{EXPONENTIAL}state = 'own'\n"));
    assert_ne!(down, up);
}

#[test]
fn good_time_is_exact() {
    let channel: Channel<usize> = Channel::new(&fading(EXPONENTIAL), 5);
    let end = Instant::from_millis(20_000);
    let (mut good, mut since) = (true, Instant::ZERO);
    let mut sum = Duration::ZERO;
    let closing = StateChange {
        at: end,
        good: false,
    };
    for change in changes(&channel, end).into_iter().chain([closing]) {
        assert!(change.at == end || change.good != good);
        if good {
            sum += change.at - since;
        }
        (good, since) = (change.good, change.at);
    }
    assert_eq!(channel.good_time(Down, Instant::ZERO, end), sum);
    let middle = Instant::from_millis(7_123);
    assert_eq!(
        channel.good_time(Down, Instant::ZERO, middle) + channel.good_time(Down, middle, end),
        sum
    );
    // Mean 5/6; the deviation of the share over some 167 cycles is below 0.02.
    assert!((sum.as_secs_f64() / 20.0 - 5.0 / 6.0).abs() < 0.06);
    let clean: Channel<usize> = Channel::new(
        &link("[each]\nrate = 'unlimited'\ndelay = '0'\nqueue = '1 packet'"),
        1,
    );
    assert_eq!(clean.good_time(Up, middle, end), end - middle);
}

#[test]
fn periods_last_whole_ticks() {
    let channel: Channel<usize> = Channel::new(&Link::named("nfs97-b80").expect("known"), 1);
    let end = Instant::from_millis(2_000_000);
    let mut last = Instant::ZERO;
    let mut longest = [Duration::ZERO; 2];
    for change in channel.state_changes(Down, end) {
        let length = change.at - last;
        assert_eq!(length.as_nanos() % (20 * MILLI), 0);
        let of_state = &mut longest[usize::from(change.good)];
        *of_state = length.max(*of_state);
        last = change.at;
    }
    // A bad period ends where the good state begins; one of no length joins its neighbours.
    assert!(longest[1] >= Duration::from_millis(160));
    let good = channel.good_time(Down, Instant::ZERO, end).as_secs_f64() / 2000.0;
    assert!((good - 1000.0 / 1080.0).abs() < 0.01, "{good}");
}

#[test]
fn a_recording_is_played_back() {
    let text = "[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '9 packets'\n\
                [errors]\nmodel = 'replay'\nfile = 'fades'\nrepeat = '100 ms'";
    let read = |_: &str| Ok("# two fades\n10 ms bad\n20 ms good\n\n90 ms bad\n".to_owned());
    let link = Link::from_toml_with(text, "test.toml", &read).expect("a link");
    let mut channel = Channel::new(&link, 1);
    let at = |milli: u64| (milli * MILLI, Down, 250);
    // Each packet takes 1 ms: a packet that ends as the fade begins is safe, as is one that starts as the fade ends.
    let packets = [
        at(9),
        (9_500_000 + MILLI / 2, Down, 250),
        at(20),
        at(99),
        at(100),
        at(115),
    ];
    let log = drive(&mut channel, &packets, 1000 * MILLI);
    let outputs: Vec<_> = log.into_iter().map(|(_, output)| output).collect();
    let expected = [
        delivered(Down, 0),
        dropped(Down, 1, Cause::Air),
        delivered(Down, 2),
        dropped(Down, 3, Cause::Air),
        delivered(Down, 4),
        dropped(Down, 5, Cause::Air),
    ];
    assert_eq!(outputs, expected);
    let end = Instant::from_millis(205);
    let lines: Vec<_> = changes(&channel, end)
        .iter()
        .map(|c| c.at.as_nanos() / MILLI)
        .collect();
    assert_eq!(lines, [10, 20, 90, 100, 110, 120, 190, 200]);
}

#[test]
fn runs_begin_anywhere_in_a_recording_if_they_shall() {
    let text = "[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '9 packets'\n\
                [errors]\nmodel = 'replay'\nfile = 'fades'\nrepeat = '100 ms'\nbegin = 'anywhere'";
    let read = |_: &str| Ok("10 ms bad\n40 ms good\n90 ms bad\n".to_owned());
    let link = Link::from_toml_with(text, "test.toml", &read).expect("a link");
    let mut begins_bad = 0;
    for seed in 1..=100 {
        let timeline = |way| link.timeline(way, seed).expect("states");
        let periods: Vec<_> = timeline(Down).take(6).collect();
        assert_eq!(periods, timeline(Up).take(6).collect::<Vec<_>>());
        begins_bad += u32::from(!periods[0].good);
        // The first period is cut; then whole periods follow, of 10 ms at both ends of the recording.
        let of = |good| if good { [10, 50] } else { [10, 30] };
        for period in &periods[1..] {
            let length = period.until.expect("another").since(period.from);
            assert!(of(period.good).contains(&(length.as_nanos() / MILLI)));
        }
        let cycle = periods[5].from.since(periods[1].from);
        assert_eq!(cycle, Duration::from_millis(100));
    }
    assert!((30..=50).contains(&begins_bad), "{begins_bad} of 100");
}

#[test]
fn what_a_channel_tells_can_be_replayed() {
    let end = Instant::from_millis(3_000);
    let drawn: Channel<usize> = Channel::new(&fading(EXPONENTIAL), 9);
    let lines: Vec<_> = changes(&drawn, end)
        .iter()
        .map(StateChange::to_string)
        .collect();
    let text = lines.join("\n");
    let config = "[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '9 packets'\n\
                  [errors]\nmodel = 'replay'\nfile = 'fades'";
    let read = |_: &str| Ok(text.clone());
    let link = Link::from_toml_with(config, "test.toml", &read).expect("a link");
    assert_eq!(changes(&Channel::new(&link, 1), end), changes(&drawn, end));
}

#[test]
fn capacity_is_what_the_air_carries_in_its_good_time() {
    let span = Instant::from_millis(1_500)..Instant::from_millis(9_000);
    let capacity = |link: &Link, seed| link.capacity(Down, seed, span.clone());
    let fading = fading(EXPONENTIAL);
    let channel: Channel<usize> = Channel::new(&fading, 5);
    let good = channel.good_time(Down, span.start, span.end);
    // 2 Mbit/s are 250 bytes in each millisecond; every period rounds down by less than a byte.
    let whole = good.as_nanos() / 4000;
    let found = capacity(&fading, 5).expect("limited").get();
    assert!(found <= whole && found + 200 > whole, "{found} of {whole}");

    let lossy = Link::named("l3-p5").expect("known");
    let found = capacity(&lossy, 1).expect("limited").get();
    assert_eq!(found.abs_diff(93_750_000 * 95 / 100), 0);

    let scheduled = link(
        "[each]\nrate = '2 Mbit/s'\ndelay = '0'\nqueue = '1 packet'\nrepeat = '1 s'\n\
         schedule = [{ at = '250 ms', rate = '0' }]",
    );
    assert_eq!(
        capacity(&scheduled, 1).map(units::Bytes::get),
        Some(437_500)
    );

    let unlimited = link("[each]\nrate = 'unlimited'\ndelay = '0'\nqueue = '1 packet'");
    assert_eq!(capacity(&unlimited, 1), None);
    let traced = "[each]\nmahimahi = 'x'\ndelay = '0'\nqueue = '1 packet'";
    let traced = Link::from_toml_with(traced, "test", &|_| Ok("10\n".into())).expect("a link");
    assert_eq!(
        capacity(&traced, 1).map(units::Bytes::get),
        Some(750 * 1500)
    );
}
