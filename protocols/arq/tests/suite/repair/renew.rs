//! Ends that begin to number their frames anew, with what the other end has.

use arq::{Arq, Report, ReportError};
use units::Duration;

use super::script::{Carried, FULL, Script, Sent, usual};

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

    /// Begins anew at both ends, the far one at another place. Returns what the near one sends then.
    fn renew(&mut self) -> Vec<Sent> {
        let far = std::mem::replace(&mut self.far.arq, Arq::new(usual()));
        self.far.arq = Arq::from_transfer(usual(), far.into_transfer());
        let reports = [self.far.arq.report(), self.near.arq.report()];
        let now = self.near.now;
        self.near
            .arq
            .renew(now, &reports[0])
            .expect("a report that fits");
        self.far
            .arq
            .renew(now, &reports[1])
            .expect("a report that fits");
        let sent = self.near.send_all();
        self.far.receive_all(&sent);
        sent
    }

    /// Has the far end acknowledge what it has got.
    fn acknowledge(&mut self) {
        self.far.wait(Duration::from_millis(30));
        let answers = self.far.send_all();
        self.near.receive_all(&answers);
    }

    fn repeated(&self) -> u64 {
        self.far.stats().received.chunks_repeated
    }
}

#[test]
fn only_what_the_other_end_lacks_is_sent_again() {
    let mut pair = Pair::new();
    pair.near.bulk(1, 8);
    let sent = pair.near.send_all();
    // Of those that came no acknowledgement arrives.
    for arrived in [&sent[..3], &sent[4..6]] {
        pair.far.receive_all(arrived);
    }
    assert_eq!(pair.far.released().len(), 3);
    let again = pair.renew();
    assert_eq!(again[0].number, 0);
    let bytes: usize = again.iter().map(|frame| frame.stream_bytes(0)).sum();
    let missing: usize = [3, 6, 7]
        .map(|frame: usize| sent[frame].stream_bytes(0))
        .iter()
        .sum();
    assert_eq!(bytes, missing);
    assert_eq!(pair.repeated(), 0);
    let places: Vec<_> = (0..8).map(|place| (1, place)).collect();
    assert_eq!(pair.far.released(), places);
    // Acknowledgements of the new numbers count, and nothing is left to do.
    pair.acknowledge();
    assert_eq!(pair.near.stats().sent.acks_refused, 0);
    pair.near.wait(Duration::from_secs(5));
    assert_eq!(pair.near.send_all().len(), 0);
    assert_eq!(pair.near.events, []);
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
    let again = pair.renew();
    assert_eq!(pair.far.released(), [(7, 0), (7, 1), (7, 2), (7, 3)]);
    let is_first = |chunk: &Carried| matches!(chunk, Carried::Brief { packet: 0, .. });
    let contents: Vec<_> = again.iter().flat_map(Sent::content).collect();
    assert!(!contents.iter().any(is_first), "{contents:?}");
}

#[test]
fn a_packet_that_had_begun_to_leave_begins_again() {
    let mut pair = Pair::new();
    pair.near.brief(7, 3 * FULL);
    let begun = pair.near.send(1);
    assert_eq!(begun.len(), 1);
    pair.renew();
    assert_eq!(pair.far.released(), [(7, 0)]);
}

#[test]
fn the_end_of_a_stream_is_said_again_unless_it_has_come() {
    for has_come in [false, true] {
        let mut pair = Pair::new();
        pair.near.bulk(1, 1);
        let sent = pair.near.send_all();
        pair.far.receive_all(&sent);
        pair.acknowledge();
        pair.near.wait(Duration::from_secs(80));
        let end = pair.near.send_all();
        assert_eq!(end.len(), 1);
        if has_come {
            pair.far.receive_all(&end);
        }
        let again = pair.renew();
        assert_eq!(again.len(), usize::from(!has_come));
        assert_eq!(pair.near.arq.flows(), 0);
        pair.acknowledge();
        pair.near.wait(Duration::from_secs(5));
        assert_eq!(pair.near.send_all().len(), 0);
    }
}

#[test]
fn an_end_that_has_lost_its_state_is_refused() {
    let mut pair = Pair::new();
    pair.near.bulk(1, 3);
    let sent = pair.near.send_all();
    pair.far.receive_all(&sent);
    let before = pair.far.arq.report();
    pair.acknowledge();
    let now = pair.near.now;
    let refused = pair.near.arq.renew(now, &Report::default());
    assert_eq!(refused, Err(ReportError::Lacks(0)));
    assert_eq!(pair.near.arq.renew(now, &before), Ok(()));
    // An end that has seen the end of a stream that goes on.
    let mut other = Pair::new();
    other.near.bulk(1, 1);
    let sent = other.near.send_all();
    other.far.receive_all(&sent);
    let end = sent[0].stream_bytes(0) as u64;
    other
        .far
        .hear(|frame| frame.stream(0, end, 0, true, |_| ()));
    let report = other.far.arq.report();
    let refused = other.near.arq.renew(now, &report);
    assert_eq!(refused, Err(ReportError::Ended(0)));
}
