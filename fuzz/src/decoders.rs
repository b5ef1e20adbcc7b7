//! Decoders: bytes to values.

use channel::Link;
use signals::{Decoder, LINE_MAX, PEER_MAX, Signal};
use wire::checksum;
use wire::flow::{Class, FlowKey};
use wire::hop::{Chunk, Frame, RecordReader, expand};
use wire::icmp::packet_too_big;
use wire::ip::IpPacket;
use wire::packet::Checksum;
use wire::segment::Segments;
use wire::tcp::clamp_maximum_segment_size;

/// Reads a frame of the hop to its end, acknowledgements included.
pub fn hop_frame(bytes: &[u8]) {
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
    let mut deliver = |packet: wire::packet::Packet| {
        assert!(packet.buffer.len() <= wire::hop::PACKET_MAX);
    };
    for piece in crate::pieces(bytes) {
        if reader.read(piece, &mut deliver).is_err() {
            return;
        }
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
        if let Ok(segments) = Segments::of(bytes, size) {
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
    let mut changed = bytes.to_vec();
    let clamped = clamp_maximum_segment_size(&mut changed, 1_200, Checksum::Verified);
    if valid && clamped.is_ok() {
        let parsed = IpPacket::parse(&changed).expect("a clamped packet is one");
        assert!(
            checksum::verify_transport_checksum(&parsed),
            "clamping broke a checksum"
        );
    }
    let _ = checksum::fill_transport_checksum(&mut changed);
    if let Ok(Some(place)) = checksum::store_pseudo_header_checksum(&mut changed) {
        let _ = checksum::complete_partial_checksum(&mut changed, place);
    }
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
