//! Records: packets survive a round trip in pieces of any size, and cost few bytes.

use proptest::prelude::*;
use wire::hop::{RecordReader, RecordWriter};
use wire::packet::{Checksum, Packet, PacketBuffer};

/// One TCP packet of a connection.
#[derive(Debug, Clone)]
struct Segment {
    sequence: u32,
    acknowledgement: u32,
    window: u16,
    flags: u8,
    stamp: u32,
    id: u16,
    payload: usize,
    part: u16,
}

impl Segment {
    fn packet(&self, ipv6: bool) -> Packet {
        let length = 32 + self.payload;
        let mut bytes = if ipv6 {
            let mut ip = vec![0x60, 0, 0, 0, (length >> 8) as u8, length as u8, 6, 64];
            ip.extend([7; 32]);
            ip
        } else {
            let total = (length + 20) as u16;
            let mut ip = vec![0x45, 0];
            ip.extend(total.to_be_bytes());
            ip.extend(self.id.to_be_bytes());
            ip.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let sum = wire_checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            ip
        };
        bytes.extend([0x1f, 0x90, 0xc0, 0x01]);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.acknowledgement.to_be_bytes());
        bytes.extend([0x80, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 1, 1, 8, 10]);
        bytes.extend(self.stamp.to_be_bytes());
        bytes.extend(self.stamp.wrapping_add(9).to_be_bytes());
        bytes.extend((0..self.payload).map(|place| (place as u32 ^ self.sequence) as u8));
        let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
        packet.checksum = Checksum::Verified;
        packet.segment_size = if self.payload > usize::from(self.part) {
            self.part
        } else {
            0
        };
        packet
    }
}

fn wire_checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Returns the stream of `packets`, and the length of each record's head.
fn write(packets: &[Packet]) -> (Vec<u8>, Vec<usize>) {
    let (mut writer, mut stream, mut heads) = (RecordWriter::default(), Vec::new(), Vec::new());
    for packet in packets {
        let head = writer.write(packet);
        heads.push(head.as_bytes().len());
        stream.extend_from_slice(head.as_bytes());
        stream.extend_from_slice(&packet[head.skip()..]);
    }
    (stream, heads)
}

/// Returns the bytes with the TCP checksum, which the receiver restores, set to zero.
fn comparable(packet: &Packet) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    let tcp = if bytes[0] >> 4 == 6 { 40 } else { 20 };
    bytes[tcp + 16..tcp + 18].fill(0);
    bytes
}

fn connection() -> Vec<Segment> {
    (0..20)
        .map(|index| Segment {
            sequence: 1_000 + index * 1_448,
            acknowledgement: 77,
            window: 500,
            flags: 0x10,
            stamp: 5 + index / 4,
            id: 300 + index as u16,
            payload: 1_448,
            part: 1_448,
        })
        .collect()
}

#[test]
fn a_bulk_flow_costs_few_bytes_a_packet() {
    for ipv6 in [false, true] {
        let packets: Vec<_> = connection()
            .iter()
            .map(|segment| segment.packet(ipv6))
            .collect();
        let (_, heads) = write(&packets);
        assert!(heads[1..].iter().all(|head| *head <= 5), "{heads:?}");
    }
}

#[test]
fn a_long_packet_is_released_in_whole_segments() {
    let long = Segment {
        payload: 10_000,
        flags: 0x99,
        part: 1_448,
        ..connection()[1].clone()
    };
    let packets = [connection()[0].packet(false), long.packet(false)];
    let (stream, _) = write(&packets);
    let (mut reader, mut got) = (RecordReader::default(), Vec::new());
    for piece in stream.chunks(1_300) {
        reader
            .read(piece, &mut |packet| got.push(packet))
            .expect("readable");
        reader.flush(&mut |packet| got.push(packet));
    }
    assert!(got.len() > 5, "{}", got.len());
    let payload: Vec<u8> = got[1..]
        .iter()
        .flat_map(|packet| packet[52..].to_vec())
        .collect();
    assert_eq!(payload, packets[1][52..]);
    let mut expected = long.sequence;
    let mut id = long.id;
    for (index, packet) in got[1..].iter().enumerate() {
        let last = index + 2 == got.len();
        let flags = packet[33];
        assert_eq!(flags & 0x08 != 0, last, "PSH only on the last");
        assert_eq!(flags & 0x80 != 0, index == 0, "CWR only on the first");
        assert_eq!(packet[24..28], expected.to_be_bytes());
        assert_eq!(packet[4..6], id.to_be_bytes());
        assert_eq!(wire_checksum(&packet[..20]), 0);
        let filled = packet.len() - 52;
        expected += filled as u32;
        id += filled.div_ceil(1_448) as u16;
    }
}

#[test]
fn a_broken_stream_is_an_error() {
    let mut reader = RecordReader::default();
    assert!(
        reader.read(&[0x80, 0], &mut |_| ()).is_err(),
        "a delta before any packet"
    );
    assert!(
        RecordReader::default().read(&[0, 0], &mut |_| ()).is_err(),
        "no length"
    );
    let mut cut = RecordReader::default();
    cut.read(&[0, 40, 1, 2], &mut |_| ())
        .expect("the beginning of a record");
    assert!(cut.end().is_err());
}

fn segment() -> impl Strategy<Value = Segment> {
    let sizes = prop_oneof![Just(0usize), Just(1), 1usize..4_000, Just(1_448)];
    (
        any::<[u32; 2]>(),
        any::<[u16; 2]>(),
        prop_oneof![Just(0x10u8), any::<u8>()],
        any::<u32>(),
        sizes,
    )
        .prop_map(
            |([sequence, acknowledgement], [window, id], flags, stamp, payload)| Segment {
                sequence,
                acknowledgement,
                window,
                flags,
                stamp,
                id,
                payload,
                part: 1_000,
            },
        )
}

proptest! {
    #[test]
    fn packets_survive_any_cutting(
        segments in proptest::collection::vec(segment(), 1..20),
        cuts in proptest::collection::vec(1usize..3_000, 1..50),
        ipv6: bool,
    ) {
        let packets: Vec<_> = segments.iter().map(|segment| segment.packet(ipv6)).collect();
        let (stream, _) = write(&packets);
        let (mut reader, mut got, mut place) = (RecordReader::default(), Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            let end = (place + cut).min(stream.len());
            reader.read(&stream[place..end], &mut |packet| got.push(packet)).expect("readable");
            place = end;
            if place == stream.len() { break }
        }
        prop_assert_eq!(reader.end(), Ok(()));
        let expected: Vec<_> = packets.iter().map(|p| (comparable(p), p.segment_size)).collect();
        let read: Vec<_> = got.iter().map(|p| (comparable(p), p.segment_size)).collect();
        prop_assert_eq!(read, expected);
        prop_assert!(got.iter().all(|packet| packet.checksum == Checksum::Partial));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(pieces: Vec<Vec<u8>>) {
        let mut reader = RecordReader::default();
        for piece in pieces {
            if reader.read(&piece, &mut |_| ()).is_err() { break }
            reader.flush(&mut |_| ());
        }
    }
}
