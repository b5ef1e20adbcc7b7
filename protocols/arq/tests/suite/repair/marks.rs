//! Congestion marks of frames: the test of the hop, the reports, and their validation.

use arq::EcnAbility;
use machine::RandomStream;
use units::{Duration, Probability};
use wire::hop::EcnCounts;
use wire::ip::Ecn;

use super::script::{Script, Sent, usual};

const MILLISECOND: Duration = Duration::from_millis(1);

#[expect(clippy::unnecessary_wraps, reason = "tests hand on None too")]
fn counts(capable: u64, marked: u64) -> Option<EcnCounts> {
    Some(EcnCounts { capable, marked })
}

/// Returns the number of ECN-capable frames in `sent`.
fn able(sent: &[Sent]) -> u64 {
    let is_able = |frame: &&Sent| frame.ecn == Ecn::Capable0;
    assert!(
        sent.iter()
            .all(|f| matches!(f.ecn, Ecn::Capable0 | Ecn::NotCapable))
    );
    sent.iter().filter(is_able).count() as u64
}

fn ability(end: &Script) -> EcnAbility {
    end.stats().ecn.outwards
}

/// Marks that were handed on to whoever finds the rate.
fn believed(end: &Script) -> u64 {
    end.samples.iter().map(|sample| sample.marked).sum()
}

/// Sends `count` frames and has them acknowledged after 20 ms, with the counts that `tell` makes of those sent able.
fn round(end: &mut Script, count: usize, tell: impl FnOnce(u64) -> Option<EcnCounts>) -> u64 {
    end.bulk(1, count + 1);
    let sent = end.send(count);
    assert_eq!(sent.len(), count);
    let number = |frame: Option<&Sent>| frame.expect("a frame").number;
    end.wait(Duration::from_millis(20));
    let able = able(&sent);
    end.counts = tell(able);
    end.ack(&[(number(sent.first()), number(sent.last()))]);
    able
}

/// An end whose frames are able, and how many it has sent.
fn able_end() -> (Script, u64) {
    let mut end = Script::new(usual());
    let sent = round(&mut end, 10, |able| counts(able, 0));
    assert_eq!(ability(&end), EcnAbility::Able);
    (end, sent)
}

#[test]
fn a_flight_finds_out_whether_marks_cross() {
    let mut end = Script::new(usual());
    end.bulk(1, 100);
    let sent = end.send(40);
    assert_eq!(able(&sent[..10]), 10);
    assert_eq!(able(&sent[10..]), 0);
    assert_eq!(ability(&end), EcnAbility::Testing);
    end.wait(Duration::from_millis(20));
    end.counts = counts(9, 1);
    end.ack(&[(sent[0].number, sent[39].number)]);
    assert_eq!(ability(&end), EcnAbility::Able);
    assert_eq!(believed(&end), 1);
    assert_eq!(able(&end.send(30)), 30);
}

#[test]
fn acknowledgements_themselves_are_not_able() {
    let mut end = Script::new(usual());
    end.hear(|frame| {
        frame.probe();
    });
    end.wait(Duration::from_millis(25));
    assert_eq!(able(&end.send_all()), 0);
}

#[test]
fn where_the_field_is_cleared_three_flights_are_sent_in_ten_minutes() {
    let mut end = Script::new(usual());
    let mut able = 0;
    for _ in 0..3_000 {
        able += round(&mut end, 2, |_| None);
        end.wait(Duration::from_millis(180));
    }
    assert_eq!(able, 30);
    assert_eq!(ability(&end), EcnAbility::Unable);
    assert_eq!(believed(&end), 0);
    end.wait(Duration::from_secs(120));
    assert_eq!(round(&mut end, 12, |_| None), 10, "it is asked again");
}

#[test]
fn a_path_that_begins_to_clear_the_field_is_found_at_the_next_count() {
    let (mut end, sent) = able_end();
    assert_eq!(round(&mut end, 20, |_| counts(sent, 0)), 20);
    assert_eq!(ability(&end), EcnAbility::Unable);
    assert_eq!(round(&mut end, 20, |_| counts(sent, 0)), 0);
    assert_eq!(believed(&end), 0);
}

#[test]
fn counts_that_stop_end_it() {
    let (mut end, _) = able_end();
    let mut rounds = 0;
    while ability(&end) == EcnAbility::Able {
        round(&mut end, 10, |_| None);
        end.wait(Duration::from_millis(80));
        rounds += 1;
        assert!(rounds < 100, "a peer keeps its counts to itself");
    }
}

#[test]
fn where_every_frame_is_marked_at_the_start_no_mark_is_believed() {
    let mut end = Script::new(usual());
    let mut told = 0;
    for _ in 0..100 {
        told += round(&mut end, 4, |able| counts(0, told + able));
    }
    assert_eq!(ability(&end), EcnAbility::Unable);
    assert_eq!(believed(&end), 0);
    assert_eq!(told, 10, "frames of one flight");
}

#[test]
fn where_every_frame_is_marked_later_a_second_of_marks_is_believed() {
    let (mut end, sent) = able_end();
    let mut marked = 0;
    for _ in 0..100 {
        marked += round(&mut end, 4, |able| counts(sent, marked + able));
    }
    assert_eq!(ability(&end), EcnAbility::Unable);
    // Rounds of 20 ms, of four frames each, and the one that ends it.
    assert_eq!(believed(&end), 50 * 4);
}

#[test]
fn a_queue_that_marks_many_but_not_all_is_believed() {
    let (mut end, sent) = able_end();
    for rounds in 1..=100 {
        round(&mut end, 4, |_| counts(sent + rounds, 3 * rounds));
    }
    assert_eq!(ability(&end), EcnAbility::Able);
    assert_eq!(believed(&end), 300);
    assert_eq!(end.stats().ecn.frames_marked, 300);
}

#[test]
fn counts_that_lie_end_it_and_are_not_believed() {
    let (base, lies) = (
        10,
        [
            counts(1 << 61, 0),
            counts(10, 11),
            counts(9, 8),
            counts(0, 0),
        ],
    );
    for lie in lies {
        let (mut end, sent) = able_end();
        assert_eq!(sent, base);
        round(&mut end, 10, |_| lie);
        assert_eq!(ability(&end), EcnAbility::Unable, "{lie:?}");
        assert_eq!(believed(&end), 0, "{lie:?}");
        // And once more, in ten minutes.
        end.wait(Duration::from_secs(601));
        round(&mut end, 10, |_| counts(u64::MAX >> 2, u64::MAX >> 2));
        round(&mut end, 10, |_| lie);
        assert_eq!(believed(&end), 0, "{lie:?}");
    }
}

#[test]
fn no_more_is_believed_than_is_acknowledged() {
    let (mut end, sent) = able_end();
    end.bulk(1, 100);
    let first = end.send(50)[0].number;
    end.wait(Duration::from_millis(20));
    end.counts = counts(sent, 50);
    end.ack(&[(first, first + 1)]);
    assert_eq!(believed(&end), 2);
}

#[test]
fn an_acknowledgement_that_was_overtaken_says_nothing() {
    let (mut end, sent) = able_end();
    end.bulk(1, 100);
    let first = end.send(20)[0].number;
    end.wait(Duration::from_millis(20));
    end.counts = counts(sent + 15, 5);
    end.ack(&[(first, first + 19)]);
    end.counts = counts(sent + 8, 2);
    end.ack(&[(first, first + 9)]);
    end.ack(&[(first, first + 19)]);
    assert_eq!(ability(&end), EcnAbility::Able);
    assert_eq!(believed(&end), 5);
}

#[test]
fn a_network_that_drops_what_is_able_costs_a_few_frames_and_no_more() {
    let mut end = Script::new(usual());
    let mut dropped = 0;
    let mut flying: Vec<Sent> = Vec::new();
    for _ in 0..200_000 {
        end.held(1, 1_000);
        flying.extend(end.send(1));
        end.wait(MILLISECOND);
        while flying
            .first()
            .is_some_and(|frame| end.now.since(frame.at) >= MILLISECOND * 20)
        {
            let frame = flying.remove(0);
            if frame.ecn == Ecn::NotCapable {
                end.ack(&[(frame.number, frame.number)]);
            } else {
                dropped += 1;
            }
        }
    }
    assert_eq!(ability(&end), EcnAbility::Unable);
    assert_eq!(dropped, 30);
}

/// Two ends; what one sends is marked by chance, and acknowledgements get lost by chance. Returns marks set and
/// marks believed, and the share of acknowledgements in all bytes.
fn marked_pair(marks: Probability, losses: Probability) -> (u64, u64, f64) {
    let (mut one, mut other) = (Script::new(usual()), Script::new(usual()));
    let mut chance = RandomStream::named(3, "marks");
    let mut flying = Vec::new();
    let mut set = 0;
    for step in 0..12_000 {
        if one.arq.queued().get() < 10_000 {
            one.bulk(1, 10);
        }
        let due = one.now + MILLISECOND * 10;
        for frame in one.send(1) {
            // Towards the end nothing is marked, so that all marks can be reported.
            let is_marked = frame.ecn == Ecn::Capable0 && step < 10_000 && chance.chance(marks);
            set += u64::from(is_marked);
            let ecn = if is_marked {
                Ecn::CongestionExperienced
            } else {
                frame.ecn
            };
            flying.push((due, true, frame.bytes, ecn));
        }
        if other.arq.wants_air(other.now) {
            let sent = other.send(1).into_iter();
            flying.extend(sent.map(|frame| (due, false, frame.bytes, frame.ecn)));
        }
        one.wait(Duration::from_micros(500));
        other.wait(Duration::from_micros(500));
        while flying.first().is_some_and(|(due, ..)| *due <= one.now) {
            let (_, forth, bytes, ecn) = flying.remove(0);
            if forth {
                other.receive_with(bytes, ecn);
            } else if !chance.chance(losses) {
                one.receive_with(bytes, ecn);
            }
        }
    }
    assert_eq!(ability(&one), EcnAbility::Able);
    assert_eq!(other.stats().ecn.frames_came_marked, set);
    let share = other.stats().sent.wire_bytes as f64 / one.stats().sent.wire_bytes as f64;
    (set, believed(&one), share)
}

#[test]
fn every_mark_is_told_once_whatever_acknowledgements_get_lost() {
    for (marks, losses) in [
        ("0 %", "0 %"),
        ("1 %", "0 %"),
        ("1 %", "30 %"),
        ("60 %", "30 %"),
    ] {
        let chance = |text: &str| text.parse().expect("a probability");
        let (set, believed, share) = marked_pair(chance(marks), chance(losses));
        assert_eq!(
            set, believed,
            "{marks} marked, {losses} of acknowledgements lost"
        );
        assert!(
            share < 0.02,
            "acknowledgements take {share:.4} at {marks} marked"
        );
    }
}

#[test]
fn a_long_silence_has_it_found_out_anew() {
    let (mut end, sent) = able_end();
    end.bulk(1, 200);
    let in_fade = end.run(Duration::from_secs(3), MILLISECOND * 20);
    let (first, last) = (able(&in_fade[..20]), able(&in_fade[100..]));
    assert_eq!(
        (first, last),
        (20, 0),
        "what follows a second of silence is not able"
    );
    let before = sent + able(&in_fade);
    let latest = in_fade.last().expect("a probe").number;
    end.counts = None;
    end.ack(&[(latest, latest)]);
    assert_eq!(ability(&end), EcnAbility::Testing);
    let flight = able(&end.send(40));
    assert_eq!(flight, 10);
    let number = latest + 40;
    end.wait(MILLISECOND * 20);
    end.counts = counts(before.min(sent) + flight, 0);
    end.ack(&[(latest, number)]);
    assert_eq!(ability(&end), EcnAbility::Able);
}
