//! Brief packets: few tries, no waiting, no duplicates.

use arq::{Config, Tries};
use units::Duration;

use super::script::{Carried, Script, Sent, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Numbers of the brief packets in `frames`, in order.
fn packets(frames: &[Sent]) -> Vec<u32> {
    let of = |chunk: Carried| match chunk {
        Carried::Brief { packet, .. } => Some(packet),
        _ => None,
    };
    frames
        .iter()
        .flat_map(Sent::content)
        .filter_map(of)
        .collect()
}

/// Sends a packet of `length` bytes; then, for each round, what carries it is lost and the round after it is
/// known. Returns in how many rounds something brief was sent.
fn rounds(end: &mut Script, length: usize) -> usize {
    end.brief(7, length);
    end.bulk(1, 100);
    let mut count = 0;
    loop {
        let mut sent = Vec::new();
        loop {
            let frame = end.send(1).remove(0);
            let brief = frame.has_brief();
            sent.push(frame);
            if !brief {
                break;
            }
        }
        if sent.len() == 1 {
            return count;
        }
        count += 1;
        let later = sent.last().expect("a frame").number;
        end.wait(Duration::from_millis(1));
        end.ack(&[(later, later)]);
    }
}

#[test]
fn a_brief_packet_has_three_tries() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    assert_eq!(rounds(&mut end, 300), 3);
    assert_eq!(end.stats().sent.packets_abandoned, 1);
}

#[test]
fn each_fragment_has_its_tries() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    assert_eq!(rounds(&mut end, 5_000), 3);
    assert_eq!(end.stats().sent.packets_abandoned, 1);
}

#[test]
fn one_try_means_the_plain_lane() {
    let mut config = usual();
    config.tries.most = 1;
    let mut end = Script::knowing(config, ROUND_TRIP);
    assert_eq!(rounds(&mut end, 300), 1);
}

#[test]
fn an_old_brief_packet_is_not_sent_again() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.brief(7, 300);
    end.bulk(1, 1);
    let first = end.send(1)[0].number;
    let later = end.send(1)[0].number;
    assert!(later > first);
    end.now += Duration::from_millis(1_001);
    end.ack(&[(later, later)]);
    assert_eq!(packets(&end.send_all()), [0; 0]);
    assert_eq!(end.stats().sent.packets_abandoned, 1);
}

#[test]
fn packets_larger_than_a_frame_arrive_whole_and_nothing_stays_behind() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    for _ in 0..30 {
        end.brief(7, 1_472);
        end.brief(8, 4_000);
    }
    for frame in end.send_all() {
        other.receive(frame.bytes);
    }
    assert_eq!(other.released().len(), 60);
    for flow in [7, 8] {
        let places: Vec<_> = other
            .released()
            .into_iter()
            .filter(|(own, _)| *own == flow)
            .collect();
        assert_eq!(
            places,
            (0..30).map(|place| (flow, place)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_lost_fragment_is_repaired_alone() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let mut other = Script::new(usual());
    end.brief(7, 4_000);
    let sent = end.send_all();
    assert_eq!(sent.len(), 3);
    let first = sent[0].number;
    for frame in [&sent[0], &sent[2]] {
        other.receive(frame.bytes.clone());
    }
    assert_eq!(other.released(), []);
    end.ack(&[(first + 2, first + 2), (first, first)]);
    let repairs = end.send_all();
    assert_eq!(repairs.len(), 1);
    assert_eq!(repairs[0].content(), sent[1].content());
    other.receive(repairs[0].bytes.clone());
    assert_eq!(other.released(), [(7, 0)]);
}

#[test]
fn a_fade_costs_no_try() {
    let mut config = usual();
    config.tries.age = Duration::from_secs(10);
    let mut end = Script::knowing(config, ROUND_TRIP);
    end.brief(7, 300);
    let frames = end.run(Duration::from_secs(1), Duration::from_millis(1));
    assert!(frames.len() > 10, "{} transmissions", frames.len());
    assert_eq!(end.stats().sent.packets_abandoned, 0);
}

#[test]
fn in_the_mode_of_the_papers_a_fade_costs_tries() {
    let tries = Tries {
        most: 4,
        age: Duration::from_secs(10),
        count_fades: true,
    };
    let config = Config {
        tries,
        limit_all: true,
        ..usual()
    };
    let mut end = Script::knowing(config, ROUND_TRIP);
    end.held(7, 300);
    let frames = end.run(Duration::from_secs(1), Duration::from_millis(1));
    assert_eq!(packets(&frames).len(), 4);
    assert!(frames.iter().all(|frame| frame.stream_bytes(0) == 0));
    assert_eq!(end.stats().sent.packets_abandoned, 1);
}

#[test]
fn a_crowd_of_brief_packets_waits_its_turn_and_none_is_forgotten() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    for _ in 0..6_000 {
        end.brief(7, 40);
    }
    let mut sent = end.send_all();
    let after_last = |frames: &[Sent]| frames.last().expect("a frame").number;
    let mut seen = packets(&sent).len();
    assert!(
        (4_000..=4_096).contains(&seen),
        "{seen} brief packets on their way"
    );
    while seen < 6_000 {
        end.ack(&[(0, after_last(&sent))]);
        let more = end.send_all();
        assert!(
            !more.is_empty(),
            "{seen} of 6,000 have left, the others stand still"
        );
        seen += packets(&more).len();
        sent.extend(more);
    }
    other.receive_all(&sent);
    assert_eq!(other.released().len(), 6_000);
    assert_eq!(end.arq.queued().get(), 0);
}
