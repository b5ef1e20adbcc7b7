//! Queues that stand: packets that can be marked are, and nothing else changes.

use arq::{Input, QueueOrder};
use units::{BitRate, Duration};
use wire::flow::Class;
use wire::ip::{Ecn, IpView};
use wire::packet::{Checksum, Packet};

use super::queues::super_packet;
use super::script::{Script, key, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);
const MILLISECOND: Duration = Duration::from_millis(1);
/// Bytes that a flow may queue at 10 Mbit/s with this round trip: 200 ms.
const LIMIT: usize = 250_000;
/// Time that a frame takes at that rate.
const FRAME_TIME: Duration = Duration::from_micros(1_170);
const FIELDS: [Ecn; 4] = [
    Ecn::NotCapable,
    Ecn::Capable1,
    Ecn::Capable0,
    Ecn::CongestionExperienced,
];

fn at_ten_megabits() -> Script {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.input(Input::Rate(BitRate::from_megabits(10)));
    end
}

/// A segment of 1,000 bytes with this field.
fn segment(place: u32, ecn: Ecn, ipv6: bool) -> Packet {
    let mut packet = super_packet(place * 1_000, 1, ipv6);
    packet.segment_size = 0;
    packet.rewrite(|bytes| {
        if ipv6 {
            bytes[1] |= ecn.bits() << 4;
        } else {
            bytes[1] |= ecn.bits();
            let mut header = wire::ip::Ipv4Mut::parse(bytes).expect("a header");
            header.fill_header_checksum();
        }
    });
    packet
}

fn queue(end: &mut Script, packet: Packet, class: Class) {
    let key = key(1);
    end.input(Input::Packet { packet, key, class });
}

/// The fields of packets that have crossed, whose headers must be valid.
fn fields(packets: &[Packet]) -> Vec<Ecn> {
    let field = |packet: &Packet| {
        let parsed = packet.ip().expect("a packet");
        if let IpView::V4(view) = parsed.view() {
            assert!(view.header_checksum_is_valid());
        }
        parsed.ecn()
    };
    packets.iter().map(field).collect()
}

fn marked(fields: &[Ecn]) -> usize {
    let is_marked = |field: &&Ecn| **field == Ecn::CongestionExperienced;
    fields.iter().filter(is_marked).count()
}

#[test]
fn a_full_queue_marks_its_oldest_packet_in_place_of_dropping_it() {
    for ipv6 in [false, true] {
        for ecn in [Ecn::Capable0, Ecn::Capable1] {
            let (mut end, mut other) = (at_ten_megabits(), Script::new(usual()));
            let count = LIMIT / 1_000 + 50;
            for place in 0..count {
                queue(&mut end, segment(place as u32, ecn, ipv6), Class::Held);
            }
            assert_eq!(end.stats().sent.packets_dropped, 0);
            other.receive_all(&end.send_all());
            let fields = fields(&other.packets);
            assert_eq!(fields.len(), count);
            assert_eq!(
                (fields[0], marked(&fields)),
                (Ecn::CongestionExperienced, 1)
            );
            assert_eq!(end.stats().ecn.packets_marked, 1);
        }
    }
}

#[test]
fn packets_that_cannot_be_marked_are_dropped_as_ever() {
    let mut end = at_ten_megabits();
    for place in 0..LIMIT / 1_000 + 50 {
        queue(
            &mut end,
            segment(place as u32, Ecn::NotCapable, false),
            Class::Held,
        );
    }
    end.send(1);
    assert_eq!(end.stats().sent.packets_dropped, 1);
    assert_eq!(end.stats().ecn.packets_marked, 0);
}

#[test]
fn a_flow_that_does_not_heed_marks_has_a_bound() {
    let mut end = at_ten_megabits();
    for place in 0..1_000 {
        queue(&mut end, segment(place, Ecn::Capable0, false), Class::Held);
    }
    assert!(end.arq.queued().get() as usize <= 2 * LIMIT);
    assert!(end.stats().sent.packets_dropped > 400);
}

/// Returns the sender, and the ECN fields of the packets that cross in `span`, for a flow that keeps `waiting`
/// packets in the queue of an air of 10 Mbit/s.
fn kept(waiting: u64, span: Duration, ecn: Ecn) -> (Script, Vec<Ecn>) {
    let (mut end, mut other) = (at_ten_megabits(), Script::new(usual()));
    let (until, mut place) = (end.now + span, 0);
    while end.now < until {
        while end.arq.queued().get() < waiting * 1_040 {
            queue(&mut end, segment(place, ecn, false), Class::Held);
            place += 1;
        }
        for frame in end.send(1) {
            let number = frame.number;
            other.receive(frame.bytes);
            end.ack(&[(number, number)]);
        }
        end.wait(FRAME_TIME);
    }
    (end, fields(&other.packets))
}

#[test]
fn a_queue_that_stands_marks_ever_more_until_it_falls() {
    for ecn in [Ecn::Capable0, Ecn::Capable1] {
        // 50 packets wait for 43 ms, far from the limit.
        let (end, fields) = kept(50, Duration::from_secs(2), ecn);
        assert_eq!(end.stats().sent.packets_dropped, 0);
        let marks: Vec<usize> = (0..fields.len())
            .filter(|place| fields[*place] == Ecn::CongestionExperienced)
            .collect();
        // RFC 8289: the k-th comes an interval of 100 ms by the root of k after the one before.
        assert!(
            (80..=115).contains(&marks.len()),
            "{} marks in 2 s",
            marks.len()
        );
        let (first, last) = (marks[1] - marks[0], marks[80] - marks[79]);
        assert!(
            first > 5 * last,
            "{first} packets between marks, later {last}"
        );
        assert!(marks[0] > 100, "the first after {} packets", marks[0]);
    }
}

#[test]
fn a_queue_that_is_short_or_cannot_be_marked_is_left_alone() {
    let cases = [(14, Ecn::Capable0), (50, Ecn::NotCapable)];
    for (waiting, ecn) in cases {
        let (end, fields) = kept(waiting, Duration::from_secs(2), ecn);
        assert_eq!(marked(&fields), 0, "{waiting} packets wait");
        assert_eq!(end.stats().sent.packets_dropped, 0);
    }
}

#[test]
fn a_burst_that_is_gone_within_an_interval_is_not_marked() {
    let (mut end, mut other) = (at_ten_megabits(), Script::new(usual()));
    for burst in 0..10 {
        for place in 0..80 {
            queue(
                &mut end,
                segment(burst * 80 + place, Ecn::Capable0, false),
                Class::Held,
            );
        }
        for _ in 0..100 {
            other.receive_all(&end.send(1));
            end.wait(FRAME_TIME);
        }
    }
    assert_eq!(marked(&fields(&other.packets)), 0);
}

#[test]
fn every_field_crosses_unchanged_in_every_lane() {
    for ipv6 in [false, true] {
        for lane in 0..3 {
            let (mut end, mut other) = (Script::new(usual()), Script::new(usual()));
            let sent: Vec<Ecn> = (0..64)
                .map(|place| FIELDS[(place * place / 5) % 4])
                .collect();
            for (place, ecn) in sent.iter().enumerate() {
                let mut packet = segment(place as u32, *ecn, ipv6);
                packet.checksum = Checksum::Partial;
                let order = QueueOrder::Last;
                let key = key(1);
                match lane {
                    0 => queue(&mut end, packet, Class::Held),
                    1 => queue(&mut end, packet, Class::Brief),
                    _ => end.input(Input::Plain { packet, key, order }),
                }
            }
            end.wait(MILLISECOND);
            other.receive_all(&end.send_all());
            assert_eq!(fields(&other.packets), sent, "lane {lane}");
        }
    }
}

#[test]
fn the_plain_lane_marks_before_anybody_keeps_a_copy() {
    let mut end = at_ten_megabits();
    let (key, order) = (key(1), QueueOrder::Last);
    for place in 0..LIMIT / 1_000 + 50 {
        let mut packet = segment(place as u32, Ecn::Capable0, false);
        assert!(end.arq.admit(end.now, &mut packet, &key));
        end.input(Input::Plain { packet, key, order });
    }
    assert_eq!(end.stats().sent.packets_dropped, 0);
    let mut other = Script::new(usual());
    other.receive_all(&end.send_all());
    assert!(marked(&fields(&other.packets)) >= 1);
}
