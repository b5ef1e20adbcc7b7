//! Held flows: every loss is found and repaired, and only its own flow waits.

use arq::Config;
use units::Duration;

use super::script::{Carried, Script, Sent, usual};

const ROUND_TRIP: Duration = Duration::from_millis(50);

#[test]
fn a_gap_is_repaired_at_once_under_a_new_number() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.bulk(1, 20);
    let sent = end.send(5);
    let first = sent[0].number;
    end.wait(ROUND_TRIP);
    end.ack(&[(first + 2, first + 4), (first, first)]);
    assert!(end.arq.wants_air(end.now));
    let repair = &end.send(1)[0];
    assert_eq!(repair.number, first + 5);
    assert_eq!(repair.content()[0], sent[1].content()[0]);
    let stats = end.stats().sent;
    assert_eq!((stats.frames_lost, stats.bursts[0]), (1, 1));
    assert_eq!(stats.bytes_repeated as usize, sent[1].stream_bytes(0));
}

#[test]
fn a_lost_repair_is_repaired() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.bulk(1, 40);
    let sent = end.send(3);
    let (first, mut known) = (sent[0].number, sent[2].number);
    end.ack(&[(known, known), (first, first)]);
    for _ in 0..5 {
        let repair = end.send(2);
        assert_eq!(repair[0].content()[0], sent[1].content()[0]);
        known = repair[1].number;
        end.ack(&[(known, known)]);
    }
    assert_eq!(end.stats().sent.frames_lost, 6);
    assert_eq!(end.stats().sent.frames_presumed_lost, 0);
}

#[test]
fn a_repair_may_be_cut_smaller_than_the_first_transmission() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let mut other = Script::new(usual());
    end.bulk(1, 3);
    let sent = end.send_all();
    // Brief packets take their part of the frame, so that the repair needs a second one.
    end.brief(2, 700);
    end.brief(3, 300);
    end.ack(&[(sent[1].number, sent[1].number)]);
    let repairs = end.send_all();
    assert!(repairs[0].stream_bytes(0) < sent[0].stream_bytes(0));
    for frame in sent[1..].iter().chain(&repairs) {
        other.receive(frame.bytes.clone());
    }
    let in_order = |flow| move |(own, place): (u16, u32)| (own == flow).then_some(place);
    let released: Vec<_> = other
        .released()
        .into_iter()
        .filter_map(in_order(1))
        .collect();
    assert_eq!(released, [0, 1, 2]);
    assert_eq!(other.arq.held().get(), 0);
}

#[test]
fn a_lost_tail_is_found_by_patience_without_back_off() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.bulk(1, 1);
    let sent = end.send(1);
    let spacing = Duration::from_millis(1);
    let repeats = end.run(Duration::from_secs(1), spacing);
    let mut before = sent[0].at;
    let waits: Vec<_> = repeats
        .iter()
        .map(|frame| std::mem::replace(&mut before, frame.at))
        .zip(&repeats)
        .map(|(before, frame)| frame.at.since(before).as_millis())
        .collect();
    assert!(waits.len() >= 9, "{waits:?}");
    // A round trip, a quarter, and the longest delay of an acknowledgement: 50 + 12.5 + 25 ms.
    assert!(
        waits.iter().all(|wait| (87..=90).contains(wait)),
        "{waits:?}"
    );
    assert!(
        repeats
            .iter()
            .all(|frame| frame.content() == sent[0].content())
    );
}

#[test]
fn a_loss_in_one_flow_holds_no_other() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    for _ in 0..3 {
        end.held(1, 1_300);
        end.held(2, 1_300);
    }
    let sent = end.send_all();
    for frame in sent.iter().filter(|frame| frame.number > 0) {
        other.receive(frame.bytes.clone());
    }
    let lost: Vec<u64> = sent[0]
        .content()
        .iter()
        .filter_map(|chunk| match chunk {
            Carried::Stream { flow, .. } => Some(*flow),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [0], "the first frame carries the first flow alone");
    assert_eq!(other.released(), [(2, 0), (2, 1), (2, 2)]);
    assert!(other.arq.held().get() > 2_000);
    other.receive(sent[0].bytes.clone());
    assert_eq!(other.released()[3..], [(1, 0), (1, 1), (1, 2)]);
    assert_eq!(other.arq.held().get(), 0);
}

#[test]
fn what_comes_twice_is_released_once() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    end.bulk(1, 4);
    end.brief(2, 100);
    let sent = end.send_all();
    for frame in sent.iter().chain(&sent) {
        other.receive(frame.bytes.clone());
    }
    assert_eq!(other.released().len(), 5);
    assert!(other.stats().received.chunks_repeated >= 5);
    assert_eq!(other.arq.held().get(), 0);
}

#[test]
fn reordering_within_the_allowance_repairs_nothing() {
    let config = Config {
        reorder: 3,
        ..usual()
    };
    let mut end = Script::knowing(config, ROUND_TRIP);
    end.bulk(1, 40);
    let sent = end.send(8);
    let first = sent[0].number;
    for later in 1..=3 {
        end.ack(&[(first + 1, first + later)]);
    }
    assert_eq!(end.stats().sent.frames_lost, 0);
    end.ack(&[(first, first + 3)]);
    assert_eq!(end.stats().sent.bytes_repeated, 0);
    // One more than the allowance is a loss.
    end.ack(&[(first + 5, first + 8 - 1), (first, first + 3)]);
    assert_eq!(end.stats().sent.frames_lost, 0);
    end.send(1);
    end.ack(&[(first + 5, first + 8), (first, first + 3)]);
    assert_eq!(end.stats().sent.frames_lost, 1);
    assert_eq!(end.send(1)[0].content()[0], sent[4].content()[0]);
}

/// As many frames as a fast hop with jitter has in disorder: each late one must be named, though none is the newest.
#[test]
fn an_acknowledgement_names_what_came_late_among_many_gaps() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    end.bulk(1, 400);
    let sent = end.send(400);
    let even = |frame: &&Sent| frame.number.is_multiple_of(2);
    for frame in sent.iter().filter(even) {
        other.receive(frame.bytes.clone());
        other.wait(Duration::from_micros(100));
        other.send(1);
    }
    let late = sent.iter().rev().filter(|frame| !even(frame)).nth(90);
    let late = late.expect("a late frame");
    other.receive(late.bytes.clone());
    other.wait(Duration::from_millis(30));
    let mut named = other.send(1).into_iter().flat_map(|frame| frame.chunks);
    let names = |chunk| match chunk {
        Carried::Ack(ranges) => ranges
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&late.number)),
        _ => false,
    };
    assert!(named.any(names));
}

/// On a noisy hop what was lost and lost again is sent twice: a third loss would cost the flow a timeout.
#[test]
fn what_is_lost_again_is_sent_twice_more() {
    let mut end = Script::new(usual());
    end.bulk(1, 1);
    let lost = end.run(Duration::from_millis(20), Duration::from_millis(1));
    assert_eq!(lost.len(), 2, "a young flow's data leave twice");
    end.brief(2, 40);
    let arrived = end.send(1)[0].number;
    end.ack(&[(arrived, arrived)]);
    let repairs = end.run(Duration::from_millis(20), Duration::from_millis(1));
    assert_eq!(repairs.len(), 2, "{repairs:?}");
    for repair in &repairs {
        assert_eq!(repair.content(), lost[0].content());
    }
}
