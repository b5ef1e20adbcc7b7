//! The life of flows, and the limits of what they may take.

use std::collections::BTreeSet;

use arq::Input;
use units::{BitRate, Duration};

use super::script::{Carried, FULL, Script, Sent, usual};

/// Flow numbers in `frames`.
fn streams(frames: &[Sent]) -> BTreeSet<u64> {
    let of = |chunk: Carried| match chunk {
        Carried::Stream { flow, .. } => Some(flow),
        _ => None,
    };
    frames
        .iter()
        .flat_map(Sent::content)
        .filter_map(of)
        .collect()
}

/// Carries everything both ways, without loss, until both ends are at rest.
fn settle(one: &mut Script, other: &mut Script) -> Vec<Sent> {
    let mut sent = Vec::new();
    for _ in 0..200 {
        let forth = one.send_all();
        other.receive_all(&forth);
        other.wait(Duration::from_millis(30));
        one.wait(Duration::from_millis(30));
        let back = other.send_all();
        one.receive_all(&back);
        if forth.is_empty() && back.is_empty() {
            break;
        }
        sent.extend(forth);
    }
    sent
}

#[test]
fn idle_flows_end_and_their_numbers_never_return() {
    let (mut one, mut other) = (Script::new(usual()), Script::new(usual()));
    one.held(1, 500);
    assert_eq!(streams(&settle(&mut one, &mut other)), BTreeSet::from([0]));
    assert_eq!(one.arq.flows(), 1);
    one.wait(Duration::from_secs(80));
    let ends = settle(&mut one, &mut other);
    let end = Carried::Stream {
        flow: 0,
        start: 503,
        length: 0,
        end: true,
    };
    assert_eq!(ends[0].content(), [end]);
    assert_eq!(one.arq.flows(), 0);
    one.held(1, 500);
    let again = settle(&mut one, &mut other);
    assert_eq!(streams(&again), BTreeSet::from([1]));
    assert_eq!(other.released(), [(1, 0), (1, 1)]);
}

#[test]
fn a_flow_that_speaks_while_its_end_is_on_its_way_goes_on_as_another() {
    let (mut one, mut other) = (Script::new(usual()), Script::new(usual()));
    one.held(1, 500);
    settle(&mut one, &mut other);
    one.wait(Duration::from_secs(80));
    let lost = one.send_all();
    assert_eq!(lost.len(), 1);
    one.held(1, 500);
    settle(&mut one, &mut other);
    assert_eq!(other.released(), [(1, 0), (1, 1)]);
    assert_eq!(one.arq.flows(), 1);
}

#[test]
fn beyond_the_limit_of_streams_flows_go_without_order() {
    let (mut one, mut other) = (Script::new(usual()), Script::new(usual()));
    for flow in 0..4_200 {
        one.held(flow, 100);
    }
    let sent = settle(&mut one, &mut other);
    assert_eq!(streams(&sent), (0..4_096).collect());
    let flows: BTreeSet<_> = other.released().into_iter().collect();
    assert_eq!(flows.len(), 4_200);
    assert_eq!(other.stats().received.chunks_refused, 0);
}

#[test]
fn streams_that_are_ending_count_too() {
    let (mut one, mut other) = (Script::new(usual()), Script::new(usual()));
    for flow in 0..4_096 {
        one.held(flow, 100);
    }
    settle(&mut one, &mut other);
    one.wait(Duration::from_secs(80));
    // What says that they end is lost, so that the other end still has them.
    one.send_all();
    for flow in 10_000..10_500 {
        one.held(flow, 100);
    }
    settle(&mut one, &mut other);
    assert_eq!(other.released().len(), 4_596);
    assert_eq!(other.stats().received.chunks_refused, 0);
}

/// An end on a fast, long hop whose first frame is lost, fed with two flows until it sends no more.
fn spanning() -> (Script, Vec<Sent>) {
    let mut one = Script::knowing(usual(), Duration::from_millis(300));
    one.input(Input::Rate(BitRate::from_megabits(1_000)));
    let mut sent = Vec::new();
    loop {
        one.bulk(1, 400);
        one.bulk(2, 400);
        let more = one.send(400);
        let stopped = more.is_empty();
        sent.extend(more);
        if stopped {
            return (one, sent);
        }
    }
}

#[test]
fn no_more_than_16_mebibytes_are_on_their_way() {
    let (one, sent) = spanning();
    let bytes: usize = sent
        .iter()
        .map(|frame| frame.stream_bytes(0) + frame.stream_bytes(1))
        .sum();
    assert!(bytes <= 16 << 20, "{bytes} bytes are on their way");
    assert!(
        bytes > (16 << 20) - FULL,
        "only {bytes} bytes are on their way"
    );
    assert!(one.arq.queued().get() > 0);
}

#[test]
fn where_no_more_may_be_on_its_way_no_empty_frame_leaves() {
    let (_, sent) = spanning();
    let bytes = |frame: &Sent| frame.stream_bytes(0) + frame.stream_bytes(1);
    assert!(sent.iter().all(|frame| bytes(frame) > 0));
}

#[test]
fn the_receiver_can_hold_all_that_may_be_on_its_way() {
    let (_, sent) = spanning();
    let mut other = Script::new(usual());
    for frame in &sent[1..] {
        other.receive(frame.bytes.clone());
    }
    assert_eq!(other.stats().received.chunks_refused, 0);
    other.receive(sent[0].bytes.clone());
    // Not all of it is released at once, but all at the same time.
    other.wait(Duration::ZERO);
    assert_eq!(other.arq.held().get(), 0);
}

#[test]
fn a_flow_goes_on_when_another_has_made_room() {
    let (mut one, sent) = spanning();
    let (first, last) = (sent[0].number, sent.last().expect("a frame").number);
    // All of the second flow is confirmed; it rests, and the first flow's gap takes all the room.
    let of_second: Vec<u64> = sent
        .iter()
        .filter(|f| f.stream_bytes(1) > 0)
        .map(|f| f.number)
        .collect();
    let mixed = sent
        .iter()
        .filter(|f| f.stream_bytes(0) > 0 && f.stream_bytes(1) > 0)
        .count();
    assert!(of_second.len() > 1_000 && mixed < sent.len());
    one.ack(&[(first, last)]);
    let more = one.send_all();
    assert!(
        more.iter().any(|frame| frame.stream_bytes(0) > 0),
        "the first flow stands still"
    );
    assert!(
        more.iter().any(|frame| frame.stream_bytes(1) > 0),
        "the second flow stands still"
    );
}

#[test]
fn a_flow_that_could_not_begin_for_want_of_room_begins_later() {
    let (mut one, sent) = spanning();
    one.held(3, 500);
    assert!(one.send_all().is_empty());
    let (first, last) = (sent[0].number, sent.last().expect("a frame").number);
    one.ack(&[(first, last)]);
    let more = one.send_all();
    assert!(
        more.iter().any(|frame| frame.stream_bytes(2) > 0),
        "the third flow stands still"
    );
}

#[test]
fn what_there_is_no_room_for_is_not_acknowledged() {
    let mut other = Script::new(usual());
    for flow in 0..=4_096 {
        other.hear(|frame| {
            frame.stream(flow, 0, 3, false, |bytes| {
                bytes.copy_from_slice(&[0, 50, 9]);
            });
        });
    }
    assert_eq!(other.stats().received.chunks_refused, 1);
    let sent = other.send_all();
    assert_eq!(sent[0].chunks, [Carried::Ack(vec![(0, 4_095)])]);
}

#[test]
fn a_peer_that_only_ends_streams_takes_no_memory() {
    let mut other = Script::new(usual());
    for flow in 0..10_000 {
        other.hear(|frame| frame.stream(2 * flow, 0, 0, true, |_| {}));
    }
    assert_eq!(other.stats().received.chunks_refused, 0);
    assert_eq!(other.stats().received.chunks_repeated, 0);
    // A late repetition of a recent one is still known.
    other.hear(|frame| frame.stream(19_998, 0, 0, true, |_| {}));
    assert_eq!(other.stats().received.chunks_repeated, 1);
}
