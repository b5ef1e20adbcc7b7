//! The order of flows, and the limits on their queues.

use arq::Input;
use units::{BitRate, Duration};
use wire::flow::Class;
use wire::packet::{Checksum, Packet, PacketBuffer};

use super::script::{FULL, Script, key, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);
/// Bytes that a flow may queue at 10 Mbit/s with this round trip: 200 ms.
const LIMIT: usize = 250_000;

fn at_ten_megabits() -> Script {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.input(Input::Rate(BitRate::from_megabits(10)));
    end
}

#[test]
fn sparse_flows_go_first() {
    let mut end = at_ten_megabits();
    end.bulk(1, 100);
    end.send(10);
    end.held(2, 100);
    end.brief(3, 100);
    let frame = &end.send(1)[0];
    assert!(
        frame.stream_bytes(1) > 100 && frame.has_brief(),
        "{:?}",
        frame.chunks
    );
}

#[test]
fn two_bulk_flows_share_the_air() {
    let mut end = at_ten_megabits();
    // One has large packets and the other small ones, which must not matter.
    end.bulk(1, 150);
    (0..1_500).for_each(|_| end.held(2, 130));
    let sent = end.send(100);
    let share = |flow: u64| {
        sent.iter()
            .map(|frame| frame.stream_bytes(flow))
            .sum::<usize>()
    };
    let (one, two) = (share(0), share(1));
    assert!(one.abs_diff(two) < 5_000, "{one} and {two} bytes");
}

#[test]
fn nothing_is_dropped_below_the_limit() {
    let mut end = at_ten_megabits();
    end.bulk(1, LIMIT / FULL);
    end.bulk(2, LIMIT / FULL);
    assert_eq!(end.stats().sent.packets_dropped, 0);
}

/// Between gateways queues are excused for ever, whatever else is to be excused for a while.
#[test]
fn a_queue_is_excused_until_the_latest_time_that_was_given() {
    let mut end = at_ten_megabits();
    end.input(Input::ExcuseQueues(end.now + Duration::MAX));
    end.input(Input::ExcuseQueues(end.now));
    end.bulk(1, 4 * LIMIT / FULL);
    assert_eq!(end.stats().sent.packets_dropped, 0);
}

#[test]
fn beyond_the_limit_one_segment_goes_in_an_interval() {
    let mut end = at_ten_megabits();
    end.bulk(1, LIMIT / FULL + 100);
    assert_eq!(end.stats().sent.packets_dropped, 0, "nothing can be sent");
    let first = end.send(3);
    assert_eq!(end.stats().sent.packets_dropped, 1);
    end.wait(Duration::from_millis(190));
    end.send(3);
    assert_eq!(end.stats().sent.packets_dropped, 1);
    end.wait(Duration::from_millis(11));
    end.send(3);
    assert_eq!(end.stats().sent.packets_dropped, 2);
    // The oldest was dropped, so that the sender notices it soon.
    let mut other = Script::new(usual());
    other.receive_all(&first);
    assert_eq!(other.released()[..2], [(1, 1), (1, 2)]);
}

#[test]
fn twice_the_limit_is_never_exceeded() {
    let mut end = at_ten_megabits();
    end.bulk(1, 1_000);
    assert!(end.arq.queued().get() as usize <= 2 * LIMIT);
    assert!(end.stats().sent.packets_dropped > 500);
}

#[test]
fn all_flows_together_have_a_bound() {
    let mut end = Script::knowing(usual(), Duration::from_millis(300));
    end.input(Input::Rate(BitRate::from_megabits(1_000)));
    for flow in 0..40 {
        end.bulk(flow, 1_000);
    }
    assert!(end.arq.queued().get() <= 24 << 20, "{}", end.arq.queued());
    assert!(end.stats().sent.packets_capped > 0);
}

/// A TCP packet that stands for `segments` of 1,000 bytes.
pub(crate) fn super_packet(sequence: u32, segments: usize, ipv6: bool) -> Packet {
    let payload = segments * 1_000;
    let mut bytes = if ipv6 {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, 6, 64];
        header[4..6].copy_from_slice(&((20 + payload) as u16).to_be_bytes());
        header.extend([0xfd; 32]);
        header
    } else {
        let total = ((40 + payload) as u16).to_be_bytes();
        let [high, low] = total;
        vec![
            0x45, 0, high, low, 0, 9, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 10, 9, 0, 2,
        ]
    };
    bytes.extend([0, 80, 0, 1]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    bytes.extend((0..payload).map(|at| ((sequence as usize + at) / 1_000) as u8));
    let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
    packet.segment_size = 1_000;
    packet.checksum = Checksum::Partial;
    packet
}

/// The sequence number and the payload of a released packet, which must be valid.
pub(crate) fn segment(packet: &Packet) -> (u32, Vec<u8>) {
    let parsed = packet.ip().expect("a valid packet");
    let bytes = parsed.payload();
    let sequence = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    (sequence, bytes[20..].to_vec())
}

#[test]
fn a_dropped_segment_leaves_a_valid_packet() {
    for ipv6 in [false, true] {
        let mut end = at_ten_megabits();
        for place in 0..10u32 {
            let packet = super_packet(place * 30_000, 30, ipv6);
            let (key, class) = (key(1), Class::Held);
            end.input(Input::Packet { packet, key, class });
        }
        let mut other = Script::new(usual());
        other.receive_all(&end.send_all());
        assert_eq!(end.stats().sent.packets_dropped, 1);
        let mut next = 1_000;
        for packet in &other.packets {
            let (sequence, payload) = segment(packet);
            assert_eq!(sequence, next);
            let right = |(at, byte): (usize, &u8)| *byte == ((next as usize + at) / 1_000) as u8;
            assert!(payload.iter().enumerate().all(right), "the payload moved");
            next += payload.len() as u32;
        }
        assert_eq!(next, 300_000);
    }
}

#[test]
fn large_brief_packets_pay_for_all_their_fragments() {
    let mut end = at_ten_megabits();
    end.bulk(1, 150);
    (0..60).for_each(|_| end.brief(2, 4_000));
    let sent = end.send(100);
    let held: usize = sent.iter().map(|frame| frame.stream_bytes(0)).sum();
    let share = held as f64 / (100.0 * 1_380.0);
    assert!((0.4..0.6).contains(&share), "the held flow has {share:.2}");
}

#[test]
fn an_outage_of_hours_keeps_only_the_last_datagrams_of_a_flow() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    // Something that was said once waits, however long.
    end.brief(8, 100);
    for _ in 0..1_000 {
        end.brief(7, 1_000);
        end.now += Duration::from_secs(4);
    }
    for frame in end.send_all() {
        other.receive(frame.bytes);
    }
    assert_eq!(other.released(), [(8, 0), (7, 997), (7, 998), (7, 999)]);
    assert_eq!(end.stats().sent.packets_dropped, 997);
}
