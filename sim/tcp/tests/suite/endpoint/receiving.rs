//! The receiver: the timing of acknowledgements, the advertised window, and additional information.

use tcp::{Config, Input, Marks, Policy};
use units::Duration;
use wire::tcp::{AirLoss, SeqRange};

use super::pipe::{CLIENT, Fate, Pipe, SERVER, config, connection};

fn range(from: u32, to: u32) -> SeqRange {
    let first = connection(CLIENT).initial_sequence + 1;
    SeqRange::of(first + from * 1_000, (to - from) * 1_000)
}

/// A sender whose first flight has ten segments.
fn ten_at_once(policy: Policy) -> Config {
    let mut config = config(policy);
    config.congestion.initial_window = 10;
    config
}

#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_after_a_wait() {
    let mut config = ten_at_once(Policy::Reno);
    config.acknowledging.delayed = true;
    let mut pipe = Pipe::connected(&config);
    pipe.write(CLIENT, 5_000);
    pipe.run(Duration::from_millis(15));
    assert_eq!(pipe.acknowledgments_of(SERVER).len(), 2);
    let start = pipe.clock.now;
    pipe.run(Duration::from_millis(300));
    assert_eq!(pipe.acknowledgments_of(SERVER).len(), 3);
    let last = pipe.wire.log.last().unwrap().at;
    assert!(
        last > start && last.since_origin().as_millis().is_multiple_of(200),
        "BSD's fast timer"
    );
}

#[test]
fn a_wait_may_count_from_the_segment() {
    let mut config = config(Policy::Reno);
    config.acknowledging.delayed = true;
    config.acknowledging.aligned = false;
    let mut pipe = Pipe::connected(&config);
    pipe.write(CLIENT, 1_000);
    let took = pipe.drain_client();
    assert!((220..225).contains(&took.as_millis()), "{took:?}");
}

#[test]
fn a_gap_and_its_end_are_acknowledged_at_once() {
    let mut config = ten_at_once(Policy::Reno);
    config.acknowledging.delayed = true;
    let mut pipe = Pipe::connected(&config);
    pipe.wire.decide_on(Fate::Lost, CLIENT, &[1]);
    pipe.write(CLIENT, 6_000);
    pipe.run(Duration::from_millis(190));
    let numbers: Vec<_> = pipe.acknowledgments_of(SERVER);
    let asked = range(1, 1).start;
    let duplicates = numbers
        .iter()
        .filter(|segment| segment.acknowledgment == asked)
        .count();
    assert_eq!(duplicates, 4, "one for each segment beyond the gap");
    assert_eq!(numbers.last().unwrap().acknowledgment, range(6, 6).start);
}

/// Small reads do not advertise small windows.
#[test]
fn the_window_opens_by_two_segments_or_half_of_the_buffer() {
    let mut pipe = Pipe::to_a_closing_window(Policy::Reno, 8_000);
    pipe.write(CLIENT, 8_000);
    pipe.run(Duration::from_secs(10));
    pipe.wire.log.clear();
    for _ in 0..19 {
        pipe.input(SERVER, Input::Read(100));
    }
    assert!(pipe.wire.log.is_empty());
    pipe.input(SERVER, Input::Read(100));
    assert_eq!(pipe.acknowledgments_of(SERVER).len(), 1);
    assert_eq!(pipe.wire.log[0].packet.window, 2_000);
}

#[test]
fn blocks_come_newest_first_and_merge() {
    let mut pipe = Pipe::connected(&ten_at_once(Policy::Sack));
    pipe.wire.decide_on(Fate::Lost, CLIENT, &[1, 3, 5, 7]);
    pipe.write(CLIENT, 10_000);
    pipe.run(Duration::from_millis(19));
    let sacks = pipe.acknowledgments_of(SERVER);
    let blocks: Vec<_> = sacks
        .iter()
        .map(|segment| segment.options.sack.as_slice().to_vec())
        .collect();
    assert_eq!(
        blocks[..5],
        [
            vec![],
            vec![range(2, 3)],
            vec![range(4, 5), range(2, 3)],
            vec![range(6, 7), range(4, 5), range(2, 3)],
            vec![range(8, 9), range(6, 7), range(4, 5)],
        ]
    );
    assert_eq!(blocks[5], [range(8, 10), range(6, 7), range(4, 5)]);
}

#[test]
fn each_acknowledgement_names_its_cause() {
    let mut pipe = Pipe::connected(&ten_at_once(Policy::Smart));
    pipe.wire.decide_on(Fate::Lost, CLIENT, &[1]);
    pipe.write(CLIENT, 4_000);
    pipe.run(Duration::from_millis(19));
    let causes: Vec<_> = pipe
        .acknowledgments_of(SERVER)
        .iter()
        .map(|ack| ack.options.cause)
        .collect();
    assert_eq!(
        causes,
        [0, 2, 3].map(|place| Some(range(place, place).start))
    );
}

#[test]
fn only_what_is_missing_and_was_lost_on_the_air_is_marked() {
    for marks in [Marks::Next, Marks::Ranges] {
        let mut config = ten_at_once(Policy::SackEln);
        config.feedback.marks = marks;
        let mut pipe = Pipe::connected(&config);
        pipe.wire.decide =
            Box::new(
                |from, segment, number| match (from, segment.payload, number) {
                    (CLIENT, 1.., 1 | 4) => Fate::Damaged,
                    (CLIENT, 1.., 6) => Fate::Lost,
                    _ => Fate::Arrives,
                },
            );
        pipe.write(CLIENT, 9_000);
        pipe.run(Duration::from_millis(19));
        let told: Vec<_> = pipe
            .acknowledgments_of(SERVER)
            .iter()
            .map(|ack| ack.options.air_loss)
            .collect();
        let one = AirLoss::Ranges([range(1, 2)].into_iter().collect());
        let both = AirLoss::Ranges([range(4, 5), range(1, 2)].into_iter().collect());
        let expected = if marks == Marks::Next {
            [AirLoss::Next; 5]
        } else {
            [one, one, both, both, both]
        };
        assert_eq!(told[0], AirLoss::None);
        assert_eq!(told[1..6], expected);
        pipe.drain_client();
        pipe.wire.log.clear();
        pipe.write(CLIENT, 9_000);
        pipe.drain_client();
        let still = pipe.acknowledgments_of(SERVER);
        assert!(
            still
                .iter()
                .all(|ack| ack.options.air_loss == AirLoss::None)
        );
    }
}

/// Reports of losses outside the possible range change nothing.
#[test]
fn nonsense_about_losses_is_ignored() {
    let mut pipe = Pipe::connected(&config(Policy::SackEln));
    pipe.write(CLIENT, 5_000);
    pipe.drain_client();
    for nonsense in [
        range(0, 2),
        range(900, 950),
        SeqRange::of(range(9, 9).start, 0),
        SeqRange {
            start: range(9, 9).start,
            end: range(7, 7).start,
        },
    ] {
        pipe.input(SERVER, Input::AirLoss(nonsense));
    }
    pipe.wire.log.clear();
    pipe.write(CLIENT, 5_000);
    pipe.drain_client();
    let told = pipe.acknowledgments_of(SERVER);
    assert!(told.iter().all(|ack| ack.options.air_loss == AirLoss::None));
}

#[test]
fn acknowledgements_ride_on_data_that_go_back() {
    let mut config = Config::bsd();
    config.no_delay = true;
    let mut pipe = Pipe::connected(&config);
    for _ in 0..20 {
        pipe.write(CLIENT, 100);
        pipe.run(Duration::from_millis(30));
        pipe.write(SERVER, 100);
        pipe.run(Duration::from_millis(30));
    }
    // Only segments for which a delay expired in between are acknowledged separately.
    let alone = pipe.acknowledgments_of(CLIENT).len() + pipe.acknowledgments_of(SERVER).len();
    assert!(alone <= 8, "{alone}");
}

#[test]
fn nagle_collects_small_writes() {
    let count = |no_delay| {
        let mut config = ten_at_once(Policy::Reno);
        config.no_delay = no_delay;
        let mut pipe = Pipe::connected(&config);
        for _ in 0..10 {
            pipe.write(CLIENT, 50);
        }
        pipe.drain_client();
        pipe.data_of(CLIENT).len()
    };
    assert_eq!((count(false), count(true)), (2, 10));
}
