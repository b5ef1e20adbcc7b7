//! What comes from the other end and makes no sense is counted, and the rest goes on.

use units::Duration;
use wire::hop::RecordWriter;
use wire::packet::PacketBuffer;

use super::script::{Script, packet, usual};

/// The bytes of a record with a packet of the flow 1.
fn record(place: u32) -> Vec<u8> {
    let packet = packet(1, place, 100);
    let mut bytes = RecordWriter::default().write(&packet).as_bytes().to_vec();
    bytes.extend_from_slice(&packet);
    bytes
}

#[test]
fn a_chunk_of_no_known_kind_makes_its_frame_malformed() {
    let mut end = Script::new(usual());
    for _ in 0..3 {
        let mut bytes = Vec::new();
        end.hear(|frame| {
            frame.probe();
        });
        end.wait(Duration::from_millis(30));
        bytes.extend_from_slice(&end.send_all()[0].bytes);
        bytes.extend_from_slice(&[0xff; 3]);
        end.receive(PacketBuffer::copy_of(&bytes));
    }
    assert_eq!(end.stats().received.frames_malformed, 3);
    assert_eq!(end.stats().received.frames, 6);
}

/// Two records in the place of one packet: the first is the packet, and what is behind it is ignored.
#[test]
fn one_brief_packet_stands_for_one_packet_in_fragments_too() {
    let mut end = Script::new(usual());
    let bytes = [record(0), record(1), record(2)].concat();
    let (first, rest) = bytes.split_at(50);
    end.hear(|frame| {
        frame.brief((0, 0), (first.len(), false, true), |out| {
            out.copy_from_slice(first)
        })
    });
    end.hear(|frame| {
        frame.brief((0, 50), (rest.len(), true, true), |out| {
            out.copy_from_slice(rest)
        });
    });
    assert_eq!(end.released(), [(1, 0)]);
}
