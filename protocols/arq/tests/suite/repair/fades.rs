//! Fades: the time while nothing comes through, and their end.

use std::collections::VecDeque;

use arq::{Input, LinkEvent};
use units::{BitRate, Bytes, Duration};

use super::script::{Script, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);
const MILLISECOND: Duration = Duration::from_millis(1);

/// An end that has been in a fade for `span` with a backlog, and the times of what it sent meanwhile,
/// in milliseconds from the beginning.
fn faded(span: Duration) -> (Script, Vec<u64>) {
    let mut end = Script::losing(usual(), ROUND_TRIP);
    end.bulk(1, 100);
    let start = end.now;
    let sent = end.run(span, MILLISECOND);
    let times = sent
        .iter()
        .map(|frame| frame.at.since(start).as_millis())
        .collect();
    (end, times)
}

#[test]
fn the_data_itself_probes_a_fade_oldest_first() {
    let mut end = Script::losing(usual(), ROUND_TRIP);
    end.bulk(1, 30);
    let sent = end.run(Duration::from_secs(2), MILLISECOND);
    assert_eq!(end.events, [LinkEvent::FadeBegan]);
    let mut in_a_row = 0;
    for frame in &sent {
        in_a_row = if frame.content() == sent[0].content() {
            in_a_row + 1
        } else {
            in_a_row
        };
    }
    // About one round of everything in each patience of 50 ms.
    assert!(in_a_row >= 30, "the oldest was sent {in_a_row} times");
    assert!(sent.len() > 900, "{} transmissions", sent.len());
}

/// A silence of two seconds in which the air is free for a frame each millisecond; returns the numbers of what left.
fn silence(end: &mut Script) -> Vec<u64> {
    end.bulk(1, 30);
    let sent = end.run(Duration::from_secs(2), MILLISECOND);
    sent.iter().map(|frame| frame.number).collect()
}

#[test]
fn a_hop_whose_last_silence_lost_nothing_gets_few_copies() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let first = silence(&mut end);
    assert!(
        (50..100).contains(&first.len()),
        "{} transmissions, as nothing is known of silences",
        first.len()
    );
    end.ack(&[(first[0], *first.last().expect("some"))]);
    // All of it had only waited.
    let held = silence(&mut end);
    assert!(
        (31..45).contains(&held.len()),
        "{} transmissions",
        held.len()
    );
    // As it goes on, what waits arrives late, and is not taken for lost meanwhile.
    for part in held.chunks(5) {
        end.ack(&[(held[0], part[part.len() - 1])]);
        let sent = end.run(Duration::from_millis(40), MILLISECOND);
        assert!(
            sent.iter().all(|frame| frame.content().is_empty()),
            "{sent:?}"
        );
    }
    // Another is lost, all but the last: now silence is to be probed again.
    let lost = silence(&mut end);
    let last = *lost.last().expect("some");
    end.ack(&[(last, last)]);
    end.run(ROUND_TRIP, MILLISECOND);
    end.input(Input::Rate(BitRate::from_megabits(100)));
    let fading = silence(&mut end);
    assert!(fading.len() > 300, "{} transmissions", fading.len());
}

/// Contents that the limit on early copies has no room for wait until it has: the end does not wake up for each of them
/// every few milliseconds.
#[test]
fn a_limit_on_copies_costs_no_calls_once_it_is_used_up() {
    let mut end = Script::losing(usual(), Duration::from_millis(600));
    // A fade that loses all but the last, so that others are expected.
    let first = silence(&mut end);
    let last = *first.last().expect("some");
    end.ack(&[(last, last)]);
    end.input(Input::Rate(BitRate::from_kilobits(64)));
    (10..200).for_each(|flow| end.held(flow, 100));
    end.send_all();
    end.wait(Duration::from_millis(100));
    end.send_all();
    let before = end.calls;
    end.wait(Duration::from_millis(400));
    let calls = end.calls - before;
    assert!(calls < 20, "{calls} calls in 400 ms");
}

#[test]
fn a_long_fade_gets_probes_only() {
    let (end, times) = faded(Duration::from_secs(130));
    let count =
        |from: u64, until: u64| times.iter().filter(|at| (from..until).contains(at)).count();
    assert!(
        count(0, 3_000) > 1_500,
        "{} in the first 3 s",
        count(0, 3_000)
    );
    // One in every hundredth of the fade: 30 ms after 3 s, 40 ms after 4 s, once a second in the end.
    assert!(
        (20..=25).contains(&count(4_000, 5_000)),
        "{}",
        count(4_000, 5_000)
    );
    assert!(
        (9..=11).contains(&count(120_000, 130_000)),
        "{}",
        count(120_000, 130_000)
    );
    assert_eq!(end.events, [LinkEvent::FadeBegan]);
}

/// In a silence of unknown effect, few transmissions are presumed lost, and more leave. They are not remembered until
/// there is no room for another.
#[test]
fn a_long_fade_leaves_room_for_probes() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.input(Input::Memory(Bytes::kibi(240)));
    (1..40).for_each(|flow| end.held(flow, 30));
    let sent = end.run(Duration::from_secs(600), Duration::from_millis(5));
    let last = sent.last().expect("a probe").at;
    assert!(
        last + Duration::from_secs(2) > end.now,
        "the last at {last:?}"
    );
}

#[test]
fn the_end_of_a_fade_is_used_at_once() {
    let (mut end, _) = faded(Duration::from_secs(60));
    let probe = end
        .run(Duration::from_secs(2), MILLISECOND)
        .pop()
        .expect("a probe");
    assert!(!end.arq.wants_air(end.now));
    end.ack(&[(probe.number, probe.number)]);
    assert!(end.arq.wants_air(end.now));
    assert!(end.arq.air_wanted_from().is_some_and(|at| at <= end.now));
    assert!(end.send(20).len() == 20);
    let Some(LinkEvent::FadeEnded { lasted, kept }) = end.events.last().copied() else {
        panic!("{:?}", end.events);
    };
    assert!(!kept, "a brief packet is not sent for so long");
    assert!(
        lasted > Duration::from_secs(61) && lasted < Duration::from_secs(63),
        "{lasted}"
    );
    assert_eq!(end.stats().sent.fades, 2);
    assert!(end.stats().sent.faded > lasted);
}

/// Few acknowledgements do not show how promptly the other end sends them, but a silence that lasts is a fade.
#[test]
fn the_first_fade_of_a_young_hop_is_noticed() {
    for acknowledged in [0, 1, 3, 15] {
        let mut end = Script::new(usual());
        for _ in 0..acknowledged {
            end.brief(2, 40);
            let number = end.send(1)[0].number;
            end.wait(ROUND_TRIP);
            end.ack(&[(number, number)]);
        }
        end.bulk(1, 3);
        let start = end.now;
        end.run(Duration::from_secs(5), MILLISECOND);
        assert_eq!(end.events, [LinkEvent::FadeBegan], "{acknowledged}");
        assert_eq!(end.arq.fade_since(), Some(start), "{acknowledged}");
    }
}

/// Each acknowledgement seems to end a fade if the round trip has become longer than the timeout, and frames that left
/// before the end of a fade give no samples: the timeout must back off until one does.
#[test]
fn a_longer_round_trip_is_not_taken_for_fades_for_long() {
    const LONGER: Duration = Duration::from_millis(640);
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let mut crossing = VecDeque::new();
    let start = end.now;
    let mut fades = 0;
    while end.now.since(start) < Duration::from_secs(30) {
        if end.now.since(start).as_millis().is_multiple_of(100) {
            end.brief(1, 300);
        }
        let sent = end.run(MILLISECOND * 10, MILLISECOND);
        crossing.extend(sent.iter().map(|frame| (frame.at + LONGER, frame.number)));
        while let Some((_, number)) = crossing.pop_front_if(|(due, _)| *due <= end.now) {
            end.ack(&[(number, number)]);
        }
        let is_settled = end.now.since(start) > Duration::from_secs(10);
        fades += usize::from(is_settled && !end.events.is_empty());
        end.events.clear();
    }
    assert_eq!(fades, 0);
}

#[test]
fn silence_without_anything_to_send_is_no_fade() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.wait(Duration::from_secs(30));
    assert_eq!(end.events, []);
    assert_eq!(end.stats().sent.frames_presumed_lost, 0);
}

#[test]
fn everything_that_a_fade_swallowed_is_sent_again() {
    let (mut end, _) = faded(Duration::from_millis(300));
    let mut other = Script::new(usual());
    for _ in 0..20 {
        let frames = end.run(ROUND_TRIP, MILLISECOND);
        other.receive_all(&frames);
        if let Some(last) = frames.last() {
            end.ack(&[(frames[0].number, last.number)]);
        }
    }
    assert_eq!(
        other.released(),
        (0..100).map(|place| (1, place)).collect::<Vec<_>>()
    );
}

/// The end of a fade is used at once: what is small and sparse is on its way again every few milliseconds, but
/// not before a confirmation is overdue, and never after it came.
#[test]
fn a_small_request_is_repeated_until_it_is_confirmed() {
    let mut end = Script::losing(usual(), Duration::from_millis(50));
    end.input(Input::Rate(BitRate::from_megabits(10)));
    end.held(1, 200);
    let sent = end.send(1).remove(0);
    let repeats = end.run(Duration::from_millis(300), Duration::from_millis(1));
    let first = repeats[0].at.since(sent.at).as_millis();
    assert!((50..87).contains(&first), "{first} ms");
    assert!((20..=70).contains(&repeats.len()), "{}", repeats.len());
    let gaps = repeats.windows(2).map(|two| two[1].at.since(two[0].at));
    for gap in gaps.map(Duration::as_millis) {
        assert!(gap <= 12, "{gap} ms");
    }
    let last = repeats.last().expect("repeats").number;
    end.ack(&[(last, last)]);
    let after = end.run(Duration::from_secs(1), Duration::from_millis(1));
    assert!(after.is_empty(), "{}", after.len());
}

/// While the hop's rate is not known, a frame may take longer than all before it, and copies would queue behind it.
#[test]
fn a_hop_of_unknown_rate_gets_few_copies_of_a_request() {
    let mut end = Script::knowing(usual(), Duration::from_millis(40));
    end.held(1, 300);
    end.send(1);
    let repeats = end.run(Duration::from_millis(200), MILLISECOND);
    assert!((1..=10).contains(&repeats.len()), "{}", repeats.len());
}

/// Each copy of a request times out, the early ones too; not each of them leads to another.
#[test]
fn copies_do_not_multiply_in_a_silence() {
    let mut end = Script::losing(usual(), ROUND_TRIP);
    let mut seconds = Vec::new();
    for _ in 0..3 {
        end.brief(1, 300);
        seconds.push(end.run(Duration::from_secs(1), MILLISECOND).len());
    }
    assert!(seconds.iter().all(|frames| *frames <= 60), "{seconds:?}");
}

/// A packet that is too large for early repeats probes the fade as all others do.
#[test]
fn a_large_packet_is_not_repeated_before_its_patience_ends() {
    let mut end = Script::knowing(usual(), Duration::from_millis(50));
    end.wait(Duration::from_secs(1));
    end.held(1, 1_200);
    let sent = end.send(1).remove(0);
    let repeats = end.run(Duration::from_millis(120), Duration::from_millis(1));
    assert_eq!(repeats.len(), 1);
    assert!(repeats[0].at.since(sent.at) >= Duration::from_millis(87));
}
