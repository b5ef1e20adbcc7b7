//! The cost of acknowledgements, and invalid ones.

use machine::RandomStream;
use units::{Duration, Probability};

use super::script::{Carried, Script, usual};

/// The share of forward bytes that acknowledgements take, when bulk goes one way at a frame every `spacing`
/// over a hop with `delay` each way and independent loss.
fn share(spacing: Duration, delay: Duration, loss: Probability) -> f64 {
    let (mut one, mut other) = (Script::knowing(usual(), delay * 2), Script::new(usual()));
    let mut chance = RandomStream::named(1, "loss");
    let mut flying = Vec::new();
    for _ in 0..6_000 {
        if one.arq.queued().get() < 10_000 {
            one.bulk(1, 10);
        }
        let due = one.now + delay;
        let sent = one.send(1).into_iter();
        flying.extend(sent.map(|frame| (due, true, frame.bytes)));
        other.now = one.now;
        if other.arq.wants_air(other.now) {
            flying.extend(
                other
                    .send(1)
                    .into_iter()
                    .map(|frame| (due, false, frame.bytes)),
            );
        }
        one.wait(spacing);
        other.wait(spacing);
        while flying.first().is_some_and(|(due, ..)| *due <= one.now) {
            let (_, forth, frame) = flying.remove(0);
            if !chance.chance(loss) {
                if forth { &mut other } else { &mut one }.receive(frame);
            }
        }
    }
    other.stats().sent.wire_bytes as f64 / one.stats().sent.wire_bytes as f64
}

#[test]
fn they_take_less_than_two_hundredths_of_a_bulk_flow() {
    let one_in_twenty = "5 %".parse().expect("a probability");
    for (microseconds, delay) in [(5_900, 5), (580, 20), (116, 50), (116, 1), (23, 300)] {
        for loss in [Probability::NEVER, one_in_twenty] {
            let spacing = Duration::from_micros(microseconds);
            let share = share(spacing, Duration::from_millis(delay), loss);
            assert!(
                share < 0.02,
                "{share:.4} at a frame every {spacing}, {delay} ms, {loss}"
            );
        }
    }
}

#[test]
fn they_ride_on_data_where_there_is_some() {
    let mut end = Script::new(usual());
    end.hear(|frame| {
        frame.probe();
    });
    end.held(1, 100);
    assert_eq!(end.send_all()[0].chunks.len(), 1);
    end.wait(Duration::from_millis(12));
    end.held(1, 100);
    let sent = end.send_all();
    assert_eq!(sent[0].chunks[0], Carried::Ack(vec![(0, 0)]));
    assert!(sent.iter().all(|frame| !frame.content().is_empty()));
}

#[test]
fn they_ask_for_none_themselves() {
    let mut end = Script::new(usual());
    end.bulk(1, 1);
    let number = end.send_all()[0].number;
    end.ack(&[(number, number)]);
    end.wait(Duration::from_secs(5));
    assert!(end.send_all().is_empty());
}

#[test]
fn a_probe_is_answered_soon() {
    let mut end = Script::new(usual());
    end.hear(|frame| {
        frame.probe();
    });
    end.wait(Duration::from_millis(25));
    assert!(end.arq.wants_air(end.now));
    assert_eq!(end.send_all()[0].chunks, [Carried::Ack(vec![(0, 0)])]);
    assert!(!end.arq.wants_air(end.now));
}

#[test]
fn what_names_transmissions_never_sent_is_refused() {
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    end.bulk(1, 10);
    let sent = end.send(3);
    let (first, next) = (sent[0].number, sent[2].number + 1);
    let round_trip = end.arq.round_trip();
    end.wait(Duration::from_millis(3));
    end.ack(&[(first, next)]);
    end.ack(&[(next + 1_000_000, next + 1_000_000)]);
    assert_eq!(end.stats().sent.acks_refused, 2);
    assert_eq!(end.stats().sent.frames_lost, 0);
    assert_eq!(end.arq.round_trip(), round_trip);
    end.ack(&[(first, next - 1)]);
    assert_eq!(end.stats().sent.acks_refused, 2);
}

#[test]
fn old_ones_change_nothing() {
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    end.bulk(1, 10);
    let first = end.send(5)[0].number;
    end.wait(Duration::from_millis(20));
    end.ack(&[(first, first + 4)]);
    let before = (end.stats().sent, end.arq.round_trip());
    end.ack(&[(first + 3, first + 3)]);
    end.ack(&[(0, 0)]);
    assert_eq!(before, (end.stats().sent, end.arq.round_trip()));
}
