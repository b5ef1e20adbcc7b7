//! Hop frames: the document's vectors, round trips, and no panic on any bytes.

use proptest::prelude::*;
use wire::hop::{
    AckFields, BindingMessage, Chunk, ClaimMessage, ClaimRefusal, EcnCounts, Frame, FrameWriter,
    MalformedFrame, MeasureMessage, NoticeMessage, PathMessage, RelayHeader, ResolverMessage,
    Resolvers, expand,
};
use wire::packet::PacketBuffer;

const ROOM: usize = 1_400;

fn writer(number: u64) -> FrameWriter {
    FrameWriter::new(PacketBuffer::with_room(2_048, 32), number, ROOM)
}

fn chunks(bytes: &[u8]) -> Vec<Chunk<'_>> {
    Frame::parse(bytes)
        .expect("a frame")
        .chunks()
        .map(|chunk| chunk.expect("a chunk"))
        .collect()
}

const DOCUMENT: &str = include_str!("../../../../docs/hop-frame.md");

/// Returns the bytes of the document's line that begins with `name`.
fn vector(name: &str) -> Vec<u8> {
    let line = DOCUMENT.lines().find_map(|line| line.strip_prefix(name));
    hex(line.and_then(|rest| rest.split('`').next()).expect(name))
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let digit = |b: &u8| char::from(*b).to_digit(16).expect("a digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(&pair[0]) << 4 | digit(&pair[1]))
        .collect()
}

#[test]
fn the_documents_vectors_hold() {
    let mut frames: [FrameWriter; 10] = std::array::from_fn(|index| match index {
        7 => FrameWriter::new(PacketBuffer::with_room(64, 32), 8, 12),
        _ => writer(index as u64 + 1),
    });
    let copy = |from: &'static [u8]| move |to: &mut [u8]| to.copy_from_slice(from);
    frames[0].probe();
    frames[1].stream(5, 1000, 3, false, copy(b"abc"));
    frames[2].stream(300, 0, 3, true, copy(b"abc"));
    frames[2].probe();
    frames[3].brief((9, 0), (2, true, true), copy(b"xy"));
    frames[4].brief((9, 100), (1, true, false), copy(b"z"));
    let fields = AckFields {
        largest: 20,
        arrival: 500_000,
        delay: 1_000,
        counts: None,
    };
    let counts = Some(EcnCounts {
        capable: 17,
        marked: 300,
    });
    frames[9].ack(AckFields { counts, ..fields }, [(18, 20), (14, 15)], 100);
    frames[5].ack(fields, [(18, 20), (14, 15)], 100);
    frames[6].transport(2, copy(b"ab"));
    frames[6].transport(1, copy(b"c"));
    frames[7].probe();
    frames[7].pad();
    frames[8].probe_after_long();
    let vectors: Vec<Vec<u8>> = DOCUMENT
        .lines()
        .filter_map(|line| line.strip_prefix("| number ")?.split('`').nth(1).map(hex))
        .collect();
    let written: Vec<Vec<u8>> = frames
        .into_iter()
        .map(|frame| frame.finish().to_vec())
        .collect();
    assert_eq!(written, vectors);
}

#[test]
fn the_documents_vectors_of_claims_hold() {
    let key: [u8; 32] = std::array::from_fn(|place| place as u8);
    for (name, message) in [
        ("| claim | `", ClaimMessage::Claim(key)),
        ("| next key | `", ClaimMessage::Successor(key)),
        (
            "| refused: fixed | `",
            ClaimMessage::Refused(ClaimRefusal::Fixed),
        ),
        (
            "| refused: expired | `",
            ClaimMessage::Refused(ClaimRefusal::Expired),
        ),
        (
            "| refused: failed | `",
            ClaimMessage::Refused(ClaimRefusal::Failed),
        ),
    ] {
        let bytes = vector(name);
        assert_eq!(message.encode(), bytes);
        assert_eq!(ClaimMessage::parse(&bytes), Some(message));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        assert_eq!(PathMessage::parse(&bytes), None);
        assert_eq!(ClaimMessage::parse(&bytes[..bytes.len() - 1]), None);
        assert_eq!(ClaimMessage::parse(&[&bytes[..], &[0]].concat()), None);
    }
}

#[test]
fn the_documents_vectors_of_notices_hold() {
    for source in ["10.9.8.7", "fd00::7"] {
        let name = format!("| foreign source {source} | `");
        let bytes = vector(&name);
        let source = source.parse().expect("an address");
        assert_eq!(NoticeMessage::foreign_source(source), bytes);
        let told = NoticeMessage::ForeignSource(source);
        assert_eq!(NoticeMessage::parse(&bytes), Some(told));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        assert_eq!(PathMessage::parse(&bytes), None);
        assert_eq!(ClaimMessage::parse(&bytes), None);
        for unknown in [&bytes[..bytes.len() - 1], &[&[10, 9], &bytes[2..]].concat()] {
            let told = Some(NoticeMessage::Unknown);
            assert_eq!(NoticeMessage::parse(unknown), told);
        }
    }
    assert_eq!(NoticeMessage::parse(&[10]), None);
}

#[test]
fn the_documents_vectors_of_relayed_datagrams_hold() {
    let label = std::array::from_fn(|index| index as u8);
    for (name, header) in [
        ("| relayed | `", RelayHeader::Own),
        ("| relayed, labelled | `", RelayHeader::Of(label)),
    ] {
        let bytes = vector(name);
        let (head, datagram) = bytes.split_at(header.length());
        assert_eq!(datagram, [4, 0xab]);
        let mut written = vec![0; header.length()];
        header.write(&mut written);
        assert_eq!(written, head);
        assert_eq!(RelayHeader::parse(&bytes), Some(header));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        assert_eq!(PathMessage::parse(&bytes), None);
    }
    assert_eq!(RelayHeader::parse(&[14; 32]), None, "half a label");
    assert_eq!(RelayHeader::parse(&[]), None);
}

#[test]
fn the_documents_vectors_of_path_messages_hold() {
    let bits = 0x0001_0203_0405_0607;
    for (name, message) in [
        ("| challenge | `", PathMessage::Challenge(bits)),
        ("| answer | `", PathMessage::Answer(bits)),
    ] {
        let bytes = vector(name);
        assert_eq!(message.encode().to_vec(), bytes);
        assert_eq!(PathMessage::parse(&bytes), Some(message));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        assert_eq!(PathMessage::parse(&bytes[..8]), None);
        assert_eq!(PathMessage::parse(&[&bytes[..], &[0]].concat()), None);
    }
}

#[test]
fn the_documents_vectors_of_measurements_hold() {
    let bits = 0x0001_0203_0405_0607;
    for (name, message) in [
        ("| probe of a round trip | `", MeasureMessage::Probe(bits)),
        ("| echo | `", MeasureMessage::Echo(bits)),
    ] {
        let bytes = vector(name);
        assert_eq!(message.encode().to_vec(), bytes);
        assert_eq!(MeasureMessage::parse(&bytes), Some(message));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        assert_eq!(PathMessage::parse(&bytes), None);
        assert_eq!(MeasureMessage::parse(&bytes[..9]), None);
        assert_eq!(MeasureMessage::parse(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(
            MeasureMessage::parse(&[&[15, 2], &bytes[2..]].concat()),
            None
        );
    }
}

#[test]
fn the_documents_vectors_of_binding_messages_hold() {
    for (name, message) in [
        ("| question | `", BindingMessage::Question(25)),
        ("| later answer | `", BindingMessage::Answer(25)),
    ] {
        let bytes = vector(name);
        assert_eq!(message.encode().to_vec(), bytes);
        assert_eq!(BindingMessage::parse(&bytes), Some(message));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        assert_eq!(BindingMessage::parse(&bytes[..2]), None);
        assert_eq!(BindingMessage::parse(&[&bytes[..], &[0]].concat()), None);
    }
}

#[test]
fn the_documents_vectors_of_resolver_messages_hold() {
    let servers = ["10.73.0.1", "fd73::1"].map(|server| server.parse().unwrap());
    let offer = Resolvers::new(servers.into(), vec!["example.org".into()]).unwrap();
    for (name, message) in [
        ("| resolver? | `", ResolverMessage::Question),
        (
            "| no resolver | `",
            ResolverMessage::Answer(Resolvers::default()),
        ),
        ("| resolvers | `", ResolverMessage::Answer(offer)),
    ] {
        let bytes = vector(name);
        assert_eq!(message.encode(), bytes);
        assert_eq!(ResolverMessage::parse(&bytes), Some(message));
        assert!(Frame::parse(&bytes).is_err(), "no frame has version 0");
        for length in 1..bytes.len() {
            assert_eq!(ResolverMessage::parse(&bytes[..length]), None, "{length}");
        }
        assert_eq!(ResolverMessage::parse(&[&bytes[..], &[0]].concat()), None);
    }
}

#[test]
fn resolvers_that_nobody_can_use_are_refused() {
    let offer = |servers: &[&str], domains: &[&str]| {
        let servers = servers.iter().map(|server| server.parse().unwrap());
        let domains = domains.iter().map(|domain| (*domain).to_owned());
        Resolvers::new(servers.collect(), domains.collect())
    };
    for server in [
        "127.0.0.53",
        "0.0.0.0",
        "169.254.1.1",
        "224.0.0.251",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "ff02::fb",
        "::ffff:10.0.0.1",
    ] {
        assert_eq!(offer(&[server], &[]), None, "{server}");
    }
    let long = "a".repeat(64);
    let longest = ["a".repeat(63).as_str(); 4].join(".");
    for domain in [
        "",
        ".",
        "a..b",
        "a b",
        "a\nnameserver 1.2.3.4",
        "-x",
        "~.",
        &long,
        &longest,
    ] {
        assert_eq!(offer(&[], &[domain]), None, "{domain:?}");
    }
    assert_eq!(offer(&["10.0.0.1"; 4], &[]), None);
    assert_eq!(offer(&[], &["a"; 7]), None);
    assert!(offer(&["10.0.0.1"; 3], &["lan.example_1.org"; 6]).is_some());
}

#[test]
fn a_full_stream_chunk_costs_twelve_bytes_in_all() {
    let mut frame = writer(1);
    let room = frame.stream_room(16_383);
    assert_eq!(room, ROOM - 12);
    frame.stream(16_383, u64::MAX, room, false, |bytes| bytes.fill(1));
    assert_eq!(frame.stream_room(1), 0);
    assert_eq!(frame.finish().len(), ROOM);
}

#[test]
fn several_chunks_share_a_frame_and_fill_it_to_the_brim() {
    let mut frame = writer(7);
    frame.stream(1, 10, 100, false, |bytes| bytes.fill(1));
    frame.brief((2, 0), (40, true, true), |bytes| bytes.fill(2));
    frame.transport(50, |bytes| bytes.fill(4));
    let room = frame.stream_room(3);
    frame.stream(3, 30, room, false, |bytes| bytes.fill(3));
    let bytes = frame.finish();
    assert_eq!(bytes.len(), ROOM);
    let lengths: Vec<usize> = chunks(&bytes)
        .iter()
        .map(|chunk| match chunk {
            Chunk::Stream { bytes, .. } | Chunk::Brief { bytes, .. } | Chunk::Transport(bytes) => {
                bytes.len()
            }
            Chunk::Ack(_) | Chunk::Probe { .. } | Chunk::Padding(_) => 0,
        })
        .collect();
    assert_eq!(lengths, [100, 40, 50, room]);
}

#[test]
fn says_what_is_wrong() {
    assert_eq!(Frame::parse(&[0x10]).err(), Some(MalformedFrame::Short(1)));
    assert_eq!(
        Frame::parse(&[0x20, 0, 0, 0, 0]).err(),
        Some(MalformedFrame::Version(2))
    );
    let unknown = Frame::parse(&[0x10, 0, 0, 0, 0, 0xf0]).expect("a header");
    assert_eq!(unknown.chunks().next(), Some(Err(MalformedFrame::Kind(15))));
    let cut = Frame::parse(&[0x10, 0, 0, 0, 0, 0x13, 1]).expect("a header");
    assert_eq!(cut.chunks().next(), Some(Err(MalformedFrame::Cut(1))));
}

proptest! {
    #[test]
    fn path_messages_round_trip(kind in 0u8..8, bits: u64) {
        let mut bytes = vec![kind];
        bytes.extend(bits.to_be_bytes());
        match PathMessage::parse(&bytes) {
            Some(message) => prop_assert_eq!(message.encode().to_vec(), bytes),
            None => prop_assert!(kind != 2 && kind != 3),
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        if let Ok(frame) = Frame::parse(&bytes) {
            for chunk in frame.chunks() {
                if let Ok(Chunk::Ack(ack)) = chunk {
                    let _ = ack.visit(expand(ack.largest, 1 << 33), |start, end| assert!(start <= end));
                }
            }
        }
    }

    #[test]
    fn acknowledgements_round_trip(
        base in 1_000_000u64..1 << 40,
        steps in proptest::collection::vec((2u64..500, 0u64..500), 1..40),
        counts in proptest::option::of((0u64..1 << 62, 0u64..1 << 62)),
    ) {
        let counts = counts.map(|(capable, marked)| EcnCounts { capable, marked });
        let mut ranges = vec![(base - 5, base)];
        for (gap, run) in steps {
            let below = ranges.last().expect("not empty").0;
            ranges.push((below - gap - run, below - gap));
        }
        let mut frame = writer(1);
        let fields = AckFields { largest: base, arrival: 1, delay: 2, counts };
        prop_assert!(frame.ack(fields, ranges.iter().copied(), ROOM));
        let bytes = frame.finish();
        let Chunk::Ack(ack) = chunks(&bytes)[0] else { panic!("no acknowledgement") };
        prop_assert_eq!(ack.counts, counts);
        let mut read = Vec::new();
        ack.visit(expand(ack.largest, base + 77), |start, end| read.push((start, end))).expect("valid");
        prop_assert_eq!(read, ranges);
    }

    #[test]
    fn numbers_expand_to_the_nearest(near: u64, distance in -(1i64 << 31) + 1..1i64 << 31) {
        let near = near >> 1;
        let number = near.saturating_add_signed(distance);
        prop_assert_eq!(expand(number as u32, near), number);
    }
}
