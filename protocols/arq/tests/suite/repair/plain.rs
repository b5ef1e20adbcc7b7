//! The plain lane: each packet crosses once, whatever becomes of it.

use arq::{Input, QueueOrder};
use units::Duration;

use super::script::{Script, Sent, key, packet, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);
/// Leaves a frame no room for a second packet.
const LARGE: usize = 1_300;

fn plain(end: &mut Script, place: u32, ahead: bool) {
    let (packet, key) = (packet(7, place, LARGE), key(7));
    let order = if ahead {
        QueueOrder::First
    } else {
        QueueOrder::Last
    };
    end.input(Input::Plain { packet, key, order });
}

/// The places of those packets that `frames` bring to another end.
fn places(frames: &[Sent]) -> Vec<u32> {
    let mut other = Script::new(usual());
    other.receive_all(frames);
    other
        .released()
        .into_iter()
        .map(|(_, place)| place)
        .collect()
}

#[test]
fn what_is_lost_stays_lost() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    for place in 0..3 {
        plain(&mut end, place, false);
    }
    let sent = end.send_all();
    assert_eq!(places(&sent), [0, 1, 2]);
    end.wait(ROUND_TRIP);
    end.ack(&[(sent[2].number, sent[2].number)]);
    assert_eq!(end.stats().sent.frames_lost, 2);
    let later = end.run(Duration::from_secs(2), Duration::from_millis(5));
    assert!(later.iter().all(|frame| frame.content().is_empty()));
    assert_eq!(end.stats().sent.packets_abandoned, 0);
}

#[test]
fn silence_brings_nothing_back() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    plain(&mut end, 0, false);
    assert_eq!(places(&end.send_all()), [0]);
    let later = end.run(Duration::from_secs(2), Duration::from_millis(5));
    assert!(later.iter().all(|frame| frame.content().is_empty()));
}

#[test]
fn the_lane_keeps_order_but_for_what_goes_ahead() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    for place in 0..3 {
        plain(&mut end, place, false);
    }
    plain(&mut end, 9, true);
    assert_eq!(places(&end.send_all()), [9, 0, 1, 2]);
}

/// A gap holds nothing: what came after it is released at once.
#[test]
fn a_gap_holds_nothing() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    for place in 0..3 {
        plain(&mut end, place, false);
    }
    let mut sent = end.send_all();
    sent.remove(1);
    assert_eq!(places(&sent), [0, 2]);
}

#[test]
fn a_packet_in_two_frames_needs_both() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let (packet, key) = (packet(7, 0, 2_000), key(7));
    let order = QueueOrder::Last;
    end.input(Input::Plain { packet, key, order });
    let sent = end.send_all();
    assert_eq!(sent.len(), 2);
    assert_eq!(places(&sent), [0]);
    assert_eq!(places(&sent[1..]), [0; 0]);
    end.wait(ROUND_TRIP);
    end.ack(&[(sent[1].number, sent[1].number)]);
    assert!(end.send_all().is_empty());
}

/// Whoever repairs too much gets no more than twice the queue.
#[test]
fn what_goes_ahead_is_bounded_too() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    for place in 0..20_000 {
        plain(&mut end, place, true);
    }
    assert!(end.stats().sent.packets_dropped > 0);
    assert!(end.arq.queued().get() <= 8 << 20);
}
