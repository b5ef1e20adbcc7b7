//! Decoders: bytes to values.

use channel::Link;
use signals::{Decoder, LINE_MAX, PEER_MAX, Signal};
use wire::checksum;
use wire::flow::{Class, FlowKey};
use wire::hop::{Chunk, Frame, PathMessage, RecordReader, expand};
use wire::icmp::packet_too_big;
use wire::ip::IpPacket;
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::segment::Segments;

/// Reads a frame of the hop to its end, acknowledgements included, or a message about a path.
pub fn hop_frame(bytes: &[u8]) {
    if let Some(message) = PathMessage::parse(bytes) {
        assert!(message.encode() == bytes && Frame::parse(bytes).is_err());
    }
    let Ok(frame) = Frame::parse(bytes) else {
        return;
    };
    for chunk in frame.chunks() {
        if let Ok(Chunk::Ack(ack)) = chunk {
            let largest = expand(ack.largest, u64::from(frame.number));
            let mut before = None;
            let _ = ack.visit(largest, |start, end| {
                assert!(start <= end && before.is_none_or(|before| end < before));
                before = Some(start);
            });
        }
    }
}

/// Reads a stream of records piece by piece; what comes out is no larger than a packet may be.
pub fn records(bytes: &[u8]) {
    let mut reader = RecordReader::default();
    let mut deliver = |packet: Packet| {
        assert!(packet.len() <= wire::hop::PACKET_MAX);
    };
    for piece in crate::pieces(bytes) {
        if reader.read(piece, &mut deliver).is_err() {
            return;
        }
        let held = reader.memory();
        assert!(
            held <= 2 * wire::hop::PACKET_MAX,
            "S11: {held} bytes for a record"
        );
        reader.flush(&mut deliver);
    }
    let _ = reader.end();
}

/// Parses an IP packet and applies every operation on packets to it.
pub fn ip_packet(bytes: &[u8]) {
    let Ok(packet) = IpPacket::parse(bytes) else {
        return;
    };
    let _ = (FlowKey::of(&packet), Class::of(&packet), packet.ecn());
    let valid = checksum::verify_transport_checksum(&packet);
    if let Some(answer) = packet_too_big(&packet, 1_280) {
        assert!(
            IpPacket::parse(&answer).is_ok(),
            "our own answer is no packet"
        );
    }
    for size in [0, 1, 536, 1_448] {
        if let Ok(segments) = Segments::of(&packet, size) {
            let mut into = vec![0; 65_536];
            for index in 0..segments.count().min(100) {
                let length = segments.write(index, &mut into);
                assert!(
                    IpPacket::parse(&into[..length]).is_ok(),
                    "a segment is no packet"
                );
            }
        }
    }
    let packet = Packet::new(PacketBuffer::copy_of(bytes)).with_checksum(Checksum::Verified);
    let mut changed = packet.clone();
    let clamped = changed.clamp_maximum_segment_size(1_200);
    if valid && clamped.is_ok() {
        assert!(has_valid_checksum(&changed), "clamping broke a checksum");
    }
    changed.mark_congestion();
    changed.fill_checksum();
    if let Some(place) = changed.store_pseudo_header_checksum() {
        let _ = changed.complete_checksum(place);
    }
    let mut several = packet;
    several.segment_size = 100;
    if several.drop_first_segment() {
        assert!(
            is_as_read_anew(&several),
            "a packet with one segment less is another"
        );
    }
}

fn has_valid_checksum(packet: &Packet) -> bool {
    is_as_read_anew(packet)
        && packet
            .ip()
            .is_some_and(|ip| checksum::verify_transport_checksum(&ip))
}

/// What is known of a packet's headers is what they say.
fn is_as_read_anew(packet: &Packet) -> bool {
    let mut anew = Packet::new(PacketBuffer::copy_of(packet)).with_checksum(packet.checksum);
    anew.segment_size = packet.segment_size;
    packet.ip().is_some() && *packet == anew
}

/// Reads the description of a link.
pub fn link_file(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Err(error) = Link::from_toml(text, "fuzz.toml")
    {
        assert!(!error.to_string().is_empty());
    }
}

/// Reads the lines of a hop's signal socket, however they are cut. Every signal that is understood is encoded to the
/// same text.
pub fn signal_lines(bytes: &[u8]) {
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    let told = Decoder::default().feed(bytes, |signal| whole.push(signal));
    let mut decoder = Decoder::default();
    let cut_told = bytes
        .chunks(7)
        .try_for_each(|piece| decoder.feed(piece, |signal| cut.push(signal)));
    assert_eq!((told, &whole), (cut_told, &cut));
    for signal in whole {
        assert!(signal.peer.len() <= PEER_MAX && signal.to_line().len() <= LINE_MAX);
        let mut again = Vec::new();
        let lines = [Signal::greeting(), signal.to_line()].concat();
        let read = Decoder::default().feed(lines.as_bytes(), |signal| again.push(signal));
        assert_eq!((read, again), (Ok(()), vec![signal]));
    }
}
