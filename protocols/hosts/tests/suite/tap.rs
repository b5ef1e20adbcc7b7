//! The tap: what it copies at both ends of a hop, and what it leaves as it is.

use std::collections::{BTreeMap, BTreeSet};

use hosts::{TapConfig, Tapped};
use units::Duration;
use wire::capture::CaptureDirection::{Inbound, Outbound};
use wire::hop::{Chunk, Frame, PathMessage};

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const HEADER: usize = 10;
const WHOLE: usize = 65_535;
const PLAINTEXT: u8 = 1;
const DATAGRAM: u8 = 2;

fn all() -> TapConfig {
    TapConfig {
        peer: None,
        snap: WHOLE,
    }
}

fn taken(pair: &mut Pair, host: usize) -> Vec<Tapped> {
    std::iter::from_fn(|| pair.hosts[host].poll_tapped()).collect()
}

/// The peer's name and the content of a copy; an IPv4 address is between them.
fn parts(tapped: &Tapped) -> (&str, &[u8]) {
    let [family, name] = [8, 9].map(|at| usize::from(tapped.bytes[at]));
    assert_eq!(family, 4);
    let (name, content) = tapped.bytes[HEADER + 6..].split_at(name);
    (std::str::from_utf8(name).expect("a name"), content)
}

/// The contents of all copies in this direction and of this kind, in order.
fn contents(all: &[Tapped], direction: wire::capture::CaptureDirection, kind: u8) -> Vec<&[u8]> {
    let wanted = all
        .iter()
        .filter(|tapped| tapped.direction == direction && tapped.bytes[1] == kind);
    wanted.map(|tapped| parts(tapped).1).collect()
}

/// Bytes of streams that are sent again in these frames, by their offsets.
fn repeated(frames: &[&[u8]]) -> u64 {
    let mut ends = BTreeMap::new();
    let mut bytes_repeated = 0;
    for frame in frames {
        for chunk in Frame::parse(frame).expect("a frame").chunks() {
            if let Chunk::Stream {
                flow,
                offset,
                bytes,
                ..
            } = chunk.expect("a chunk")
            {
                let end = ends.entry(flow).or_insert(0);
                if offset < *end {
                    bytes_repeated += bytes.len() as u64;
                }
                *end = (*end).max(offset + bytes.len() as u32);
            }
        }
    }
    bytes_repeated
}

#[test]
fn each_frame_is_copied_before_it_is_sealed_and_after_it_is_opened() {
    let mut pair = Pair::new("l3-p5", 5);
    for host in [MOBILE, GATEWAY] {
        assert!(pair.hosts[host].set_tap(Some(all())));
    }
    pair.add(Traffic::bulk(1));
    pair.run_for(Duration::from_secs(3));
    let [mobile, gateway] = [MOBILE, GATEWAY].map(|host| taken(&mut pair, host));
    let sent = contents(&gateway, Outbound, PLAINTEXT);
    let is_frame = |content: &&[u8]| !content.is_empty() && PathMessage::parse(content).is_none();
    let frames: Vec<_> = sent.iter().copied().filter(is_frame).collect();
    let stats = pair.status(GATEWAY).hop.stats;
    assert_eq!(frames.len() as u64, stats.sent.frames);
    assert_eq!(repeated(&frames), stats.sent.bytes_repeated);
    assert!(stats.sent.bytes_repeated > 0, "the link loses frames");
    let sent: BTreeSet<_> = sent.into_iter().collect();
    let came = contents(&mobile, Inbound, PLAINTEXT);
    let came: Vec<_> = came.into_iter().filter(is_frame).collect();
    assert_eq!(
        came.len() as u64,
        pair.status(MOBILE).hop.stats.received.frames
    );
    assert!(came.iter().all(|content| sent.contains(content)));
    // The handshake is there as it is on the wire: an initiation, and its answer.
    let types = |copies, direction| -> Vec<u8> {
        let datagrams = contents(copies, direction, DATAGRAM);
        datagrams.iter().map(|datagram| datagram[0]).collect()
    };
    assert_eq!(types(&gateway, Inbound), [1]);
    assert_eq!(types(&gateway, Outbound)[0], 2);
    assert_eq!(types(&mobile, Inbound), [2]);
    for tapped in mobile.iter().chain(&gateway) {
        assert_eq!(tapped.length, tapped.bytes.len());
    }
}

#[test]
fn a_tap_changes_nothing_that_its_host_does() {
    let run = |tapped: bool| {
        let mut pair = Pair::marked("l2-b80", 7);
        let config = tapped.then(all);
        assert!(pair.hosts[GATEWAY].set_tap(config));
        pair.add(Traffic::bulk(1));
        pair.run_for(Duration::from_secs(5));
        (pair.mark(), taken(&mut pair, GATEWAY).len())
    };
    let ((with, copies), (without, none)) = (run(true), run(false));
    assert_eq!(with, without);
    assert!(copies > 100, "{copies}");
    assert_eq!(none, 0);
}

#[test]
fn a_tap_has_the_wanted_peer_and_the_wanted_length_alone() {
    let mut pair = Pair::new("l2-clean", 5);
    let status = pair.status(GATEWAY);
    let only = |peer: &str| TapConfig {
        peer: Some(peer.into()),
        snap: 20,
    };
    assert!(!pair.hosts[GATEWAY].set_tap(Some(only("nobody"))));
    assert!(pair.hosts[GATEWAY].set_tap(Some(only(&status.name))));
    pair.add(Traffic::bulk(1));
    pair.run_for(Duration::from_secs(1));
    let copies = taken(&mut pair, GATEWAY);
    let is_short = |tapped: &Tapped| parts(tapped).0 == status.name && parts(tapped).1.len() <= 20;
    assert!(copies.iter().all(is_short));
    assert!(copies.iter().any(|tapped| tapped.length > 1_000));
    assert!(pair.hosts[GATEWAY].set_tap(None));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(taken(&mut pair, GATEWAY), []);
}
