//! Ends whose packets go on by another association, with what the other end has delivered.

use arq::{Arq, Input, Report};
use units::Duration;
use wire::flow::Class;
use wire::packet::Packet;

use super::queues::{segment, super_packet};
use super::script::{Carried, FULL, Script, Sent, key, name, usual};

/// Two ends; the second one gets what the first one sends.
struct Pair {
    near: Script,
    far: Script,
}

impl Pair {
    fn new() -> Self {
        Self {
            near: Script::new(usual()),
            far: Script::new(usual()),
        }
    }

    /// Has the far end say what it has delivered, and withdraws the rest from the near one; both are new then.
    fn withdraw(&mut self) -> Vec<Packet> {
        let report = self.far.arq.report();
        self.far.drain();
        self.far.arq = Arq::new(usual());
        let near = std::mem::replace(&mut self.near.arq, Arq::new(usual()));
        let withdrawn = near.withdraw(Some(&report));
        assert!(withdrawn.is_whole, "a report that fits");
        withdrawn.packets
    }

    /// Moves to another association, in which the near end sends what is left of the flows of this class. Returns the
    /// frames.
    fn go_on(&mut self, class: Class) -> Vec<Sent> {
        for packet in self.withdraw() {
            let key = key(name(&packet).0);
            self.near.input(Input::Packet { packet, key, class });
        }
        let sent = self.near.send_all();
        self.far.receive_all(&sent);
        sent
    }
}

#[test]
fn packets_behind_a_gap_are_sent_again() {
    let mut pair = Pair::new();
    pair.near.bulk(1, 8);
    let sent = pair.near.send_all();
    // Of those that came no acknowledgement arrives.
    for arrived in [&sent[..3], &sent[4..6]] {
        pair.far.receive_all(arrived);
    }
    assert_eq!(pair.far.released().len(), 3);
    // The fourth packet is missing, with a part of the third or the fifth in its frame.
    let again = pair.go_on(Class::Held);
    assert_eq!(again[0].number, 0);
    let bytes: usize = again.iter().map(|frame| frame.stream_bytes(0)).sum();
    assert!((5 * FULL..5 * FULL + 40).contains(&bytes), "{bytes}");
    let places: Vec<_> = (0..8).map(|place| (1, place)).collect();
    assert_eq!(pair.far.released(), places);
}

#[test]
fn packets_that_were_not_sent_follow() {
    let mut pair = Pair::new();
    pair.near.bulk(1, 2);
    let sent = pair.near.send_all();
    pair.far.receive_all(&sent[..1]);
    pair.near.bulk(1, 2);
    pair.near.bulk(2, 1);
    pair.go_on(Class::Held);
    let mut released = pair.far.released();
    released.sort_unstable();
    assert_eq!(released, [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0)]);
    let of_one = |(flow, _): &&(u16, u32)| *flow == 1;
    assert!(pair.far.released().iter().filter(of_one).is_sorted());
}

#[test]
fn brief_packets_come_once() {
    let mut pair = Pair::new();
    for length in [100, 3 * FULL, 200, 3 * FULL] {
        pair.near.brief(7, length);
    }
    let sent = pair.near.send_all();
    assert!(sent.len() > 4, "{}", sent.len());
    // The first packet comes whole, of the second the beginning.
    pair.far.receive_all(&sent[..2]);
    let again = pair.go_on(Class::Brief);
    assert_eq!(pair.far.released(), [(7, 0), (7, 1), (7, 2), (7, 3)]);
    let contents: Vec<_> = again.iter().flat_map(Sent::content).collect();
    let lasts = |chunk: &&Carried| matches!(chunk, Carried::Brief { end: true, .. });
    assert_eq!(contents.iter().filter(lasts).count(), 3, "{contents:?}");
}

#[test]
fn a_packet_that_had_begun_to_leave_begins_again() {
    let mut pair = Pair::new();
    pair.near.brief(7, 3 * FULL);
    let begun = pair.near.send(1);
    assert_eq!(begun.len(), 1);
    pair.go_on(Class::Brief);
    assert_eq!(pair.far.released(), [(7, 0)]);
}

#[test]
fn segments_that_were_delivered_ahead_of_their_packet_are_not_sent_again() {
    for arrived in [1, 3, 5] {
        let mut pair = Pair::new();
        // The second packet is a delta of the first, so that its segments need not wait for its end.
        for start in [0, 8_000] {
            let packet = super_packet(start, 8, false);
            let (key, class) = (key(1), Class::Held);
            pair.near.input(Input::Packet { packet, key, class });
            let mut frames = pair.near.send_all();
            frames.truncate(if start == 0 { frames.len() } else { arrived });
            pair.far.receive_all(&frames);
        }
        pair.far.wait(Duration::from_millis(5));
        let delivered = data(&pair.far.packets);
        assert!(
            delivered > 8_000 && delivered.is_multiple_of(1_000),
            "{delivered}"
        );
        let withdrawn = pair.withdraw();
        assert_eq!(segment(&withdrawn[0]).0 as usize, delivered);
        assert_eq!(data(&withdrawn), 16_000 - delivered);
    }
}

/// Bytes of data in these segments.
fn data(packets: &[Packet]) -> usize {
    packets.iter().map(|packet| segment(packet).1.len()).sum()
}

#[test]
fn a_stream_that_has_ended_lacks_nothing() {
    for has_come in [false, true] {
        let mut pair = Pair::new();
        pair.near.bulk(1, 1);
        let sent = pair.near.send_all();
        pair.far.receive_all(&sent);
        pair.far.wait(Duration::from_millis(30));
        let answers = pair.far.send_all();
        pair.near.receive_all(&answers);
        pair.near.wait(Duration::from_secs(80));
        let end = pair.near.send_all();
        assert_eq!(end.len(), 1);
        if has_come {
            pair.far.receive_all(&end);
        }
        assert_eq!(pair.withdraw().len(), 0);
    }
}

#[test]
fn an_end_that_has_lost_its_state_is_noticed() {
    let mut pair = Pair::new();
    pair.near.bulk(1, 3);
    let sent = pair.near.send_all();
    pair.far.receive_all(&sent);
    pair.far.wait(Duration::from_millis(30));
    let answers = pair.far.send_all();
    pair.near.receive_all(&answers);
    let near = std::mem::replace(&mut pair.near.arq, Arq::new(usual()));
    let withdrawn = near.withdraw(Some(&Report::default()));
    assert!(!withdrawn.is_whole && withdrawn.packets.is_empty());
}

#[test]
fn without_a_report_only_what_tolerates_a_copy_is_sent_again() {
    let mut pair = Pair::new();
    pair.near.bulk(1, 4);
    pair.near.brief(7, 100);
    let sent = pair.near.send_all();
    pair.far.receive_all(&sent[..2]);
    pair.far.wait(Duration::from_millis(30));
    let answers = pair.far.send_all();
    pair.near.receive_all(&answers);
    pair.near.bulk(1, 1);
    pair.near.brief(7, 100);
    let near = std::mem::replace(&mut pair.near.arq, Arq::new(usual()));
    let withdrawn = near.withdraw(None);
    assert!(!withdrawn.is_whole);
    let names: Vec<_> = withdrawn.packets.iter().map(name).collect();
    // Two of TCP are confirmed, and the first brief one may have come.
    assert_eq!(names, [(1, 2), (1, 3), (1, 4), (7, 1)]);
}
