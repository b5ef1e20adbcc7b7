//! Tests of an end without timers, which loses nothing by that.

use machine::{Machine, RandomStream};
use mtcp::{Config, Input, Reason};
use units::Duration;

use super::pipe::{GATEWAY, MOBILE, Pipe, carries_data, content, paper, wide};

fn lean(config: &Config) -> Config {
    Config {
        lean: true,
        ..config.clone()
    }
}

#[test]
fn streams_arrive_whole_both_ways_without_timers_at_the_mobile_host() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = Pipe::connected_between(&config, &lean(&config));
        let mut random = RandomStream::named(5, "losses");
        pipe.lose_where(move |_, _, _| random.below(10) == 0);
        for round in 0..40 {
            pipe.write(GATEWAY, asked, round * 3_000..(round + 1) * 3_000);
            pipe.write(MOBILE, arrived, round * 1_500..(round + 1) * 1_500);
            pipe.run(Duration::from_millis(300));
            assert_eq!(pipe.ends[MOBILE].poll_timeout(), None, "no timer runs");
        }
        pipe.run(Duration::from_secs(30));
        assert!(pipe.told(MOBILE, arrived).received == content(0, 120_000));
        assert!(pipe.told(GATEWAY, asked).received == content(0, 60_000));
        pipe.input(MOBILE, Input::Close(arrived));
        pipe.input(GATEWAY, Input::Close(asked));
        pipe.run(Duration::from_secs(60));
        assert!(pipe.told(MOBILE, arrived).closed && pipe.told(GATEWAY, asked).closed);
        assert_eq!(pipe.ends[MOBILE].connections(), 0);
        let mobile = pipe.ends[MOBILE].counters().traffic;
        assert!(mobile.timeouts <= 1, "{mobile:?}");
    }
}

#[test]
fn a_lost_last_packet_of_a_lean_end_is_found_by_a_poll() {
    let (mut pipe, [asked, arrived]) = Pipe::connected_between(&paper(), &lean(&paper()));
    pipe.lose(MOBILE, &[0]);
    pipe.write(MOBILE, arrived, 0..100);
    pipe.run(Duration::from_secs(6));
    assert_eq!(pipe.told(GATEWAY, asked).received, content(0, 100));
}

#[test]
fn the_last_packet_of_a_burst_asks_for_its_acknowledgement() {
    let (mut pipe, [asked, _]) = Pipe::connected_between(&paper(), &lean(&paper()));
    pipe.write(GATEWAY, asked, 0..3_000);
    pipe.run(Duration::from_millis(30));
    assert_eq!(
        pipe.status(GATEWAY, asked).flight,
        0,
        "acknowledged before any tick"
    );
    let polls = pipe
        .data_of(GATEWAY)
        .iter()
        .filter(|(_, data)| data.flags.poll)
        .count();
    assert_eq!(polls, 1);
}

#[test]
fn a_full_window_is_acknowledged_without_being_asked() {
    let (mut pipe, [asked, arrived]) = Pipe::connected_between(&paper(), &lean(&paper()));
    pipe.write(GATEWAY, asked, 0..200_000);
    pipe.run(Duration::from_secs(5));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 200_000);
    let polls = pipe.ends[GATEWAY].counters().traffic.sent.polls;
    // A poll at the end of the data, and one in each of some seconds without data.
    assert!(polls <= 8, "{polls}");
    let acknowledgments = pipe.acknowledgments_of(MOBILE).len();
    assert!(acknowledgments <= 110, "{acknowledgments} for 200 packets");
}

#[test]
fn polls_become_rare_while_nothing_happens() {
    let (mut pipe, _) = Pipe::connected_between(&paper(), &lean(&paper()));
    pipe.run(Duration::from_secs(1_000));
    let polls = pipe.ends[GATEWAY].counters().traffic.sent.polls;
    assert!((150..260).contains(&polls), "{polls}");
    assert!(
        pipe.wire
            .log
            .iter()
            .all(|sighting| !carries_data(&sighting.packet))
    );
}

#[test]
fn two_lean_ends_do_not_connect() {
    let mut pipe = Pipe::new(&lean(&paper()), &lean(&paper()));
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(1));
    let reset = pipe.told(GATEWAY, mtcp::ConnectionId::Opened(1)).reset;
    assert_eq!(reset, Some(Reason::Profile));
}
