//! Decoders: bytes to values.

use channel::Link;
use signals::{Decoder, LINE_MAX, PEER_MAX, Signal};
use wire::checksum;
use wire::flow::{Class, FlowKey};
use wire::hop::{Chunk, Frame, MeasureMessage, PathMessage, RecordReader, expand};
use wire::icmp::packet_too_big;
use wire::ip::IpPacket;
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::segment::Segments;

use crate::outcome::note;

/// Reads a frame of the hop to its end, acknowledgements included, or a message about a path or a round trip.
pub fn hop_frame(bytes: &[u8]) {
    if let Some(message) = PathMessage::parse(bytes) {
        note(&message);
        assert!(message.encode() == bytes && Frame::parse(bytes).is_err());
    }
    if let Some(message) = MeasureMessage::parse(bytes) {
        note(&message);
        assert!(message.encode() == bytes && Frame::parse(bytes).is_err());
    }
    let frame = match Frame::parse(bytes) {
        Ok(frame) => frame,
        Err(error) => return note(&error),
    };
    for chunk in frame.chunks() {
        note(&chunk);
        if let Ok(Chunk::Ack(ack)) = chunk {
            let largest = expand(ack.largest, u64::from(frame.number));
            let mut before = None;
            note(&ack.visit(largest, |start, end| {
                assert!(start <= end && before.is_none_or(|before| end < before));
                before = Some(start);
            }));
        }
    }
}

/// Reads a stream of records piece by piece; what comes out is no larger than a packet may be.
pub fn records(bytes: &[u8]) {
    let mut reader = RecordReader::default();
    let mut deliver = |packet: Packet| {
        note(&packet.checksum);
        note(&packet.ip().map(|ip| ip.transport()));
        assert!(packet.len() <= wire::hop::PACKET_MAX);
    };
    for piece in crate::pieces(bytes) {
        if let Err(error) = reader.read(piece, &mut deliver) {
            return note(&error);
        }
        let held = reader.memory();
        assert!(
            held <= 2 * wire::hop::PACKET_MAX,
            "S11: {held} bytes for a record"
        );
        reader.flush(&mut deliver);
    }
    note(&reader.end());
}

/// Parses an IP packet and applies every operation on packets to it.
pub fn ip_packet(bytes: &[u8]) {
    let packet = match IpPacket::parse(bytes) {
        Ok(packet) => packet,
        Err(error) => return note(&error),
    };
    note(&packet.transport());
    let _ = FlowKey::of(&packet);
    note(&Class::of(&packet));
    note(&packet.ecn());
    let valid = checksum::verify_transport_checksum(&packet);
    if let Some(answer) = packet_too_big(&packet, 1_280) {
        assert!(
            IpPacket::parse(&answer).is_ok(),
            "our own answer is no packet"
        );
    }
    for size in [0, 1, 536, 1_448] {
        let segments = Segments::of(&packet, size);
        note(&segments.as_ref().map(|_| ()));
        if let Ok(segments) = segments {
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
    note(&clamped);
    if valid && clamped.is_ok() {
        assert!(has_valid_checksum(&changed), "clamping broke a checksum");
    }
    note(&changed.mark_congestion());
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
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Link::from_toml(text, "fuzz.toml") {
        Ok(_) => note(&"a link"),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty());
            text.lines().for_each(|line| note(&line));
        }
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
    note(&told);
    for signal in whole {
        note(&signal.event);
        assert!(signal.peer.len() <= PEER_MAX && signal.to_line().len() <= LINE_MAX);
        let mut again = Vec::new();
        let lines = [Signal::greeting(), signal.to_line()].concat();
        let read = Decoder::default().feed(lines.as_bytes(), |signal| again.push(signal));
        // The latest time of all is no whole number of microseconds.
        let texts = again.iter().map(Signal::to_line).collect::<String>();
        assert_eq!((read, texts), (Ok(()), signal.to_line()));
    }
}
