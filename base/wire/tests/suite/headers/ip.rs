//! Golden packets parse correctly; no bytes cause a panic.

use proptest::prelude::*;
use units::SeqNumber;
use wire::checksum::{PartialChecksum, verify_transport_checksum};
use wire::flow::{Class, FlowKey};
use wire::icmp::{Echo, IcmpMessage, packet_too_big};
use wire::ip::{Ecn, IpPacket, IpView, Ipv4Mut, Protocol, Transport, Version};
use wire::malformed::{Header, Malformed};
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::segment::Segments;
use wire::tcp::{OptionBytes, TcpFlags, TcpOption, TcpSegmentOptions};

use super::samples::{self, bytes, with_payload};

#[test]
fn reads_a_syn() {
    let packet = bytes(samples::SYN_V4);
    let parsed = IpPacket::parse(&packet).unwrap();
    assert_eq!(
        (parsed.version(), parsed.header_length()),
        (Version::V4, 20)
    );
    assert_eq!(
        (parsed.time_to_live(), parsed.dscp(), parsed.ecn()),
        (64, 0, Ecn::NotCapable)
    );
    assert_eq!(parsed.source().to_string(), "192.0.2.1");
    assert_eq!(parsed.destination().to_string(), "192.0.2.7");
    assert_eq!(parsed.fragment(), None);
    let IpView::V4(view) = parsed.view() else {
        panic!("{parsed:?}")
    };
    assert!(view.header_checksum_is_valid() && view.do_not_fragment());
    let Transport::Tcp(tcp) = parsed.transport() else {
        panic!("{parsed:?}")
    };
    assert_eq!(tcp.destination_port(), 80);
    assert_eq!((tcp.flags(), tcp.window()), (TcpFlags::SYN, 64_240));
    assert_eq!(
        (tcp.acknowledgment_number(), tcp.urgent_pointer()),
        (SeqNumber(0), 0)
    );
    let options: Vec<_> = tcp.options().map(Result::unwrap).collect();
    assert!(matches!(
        options[..],
        [
            TcpOption::MaximumSegmentSize(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps { echo: 0, .. },
            TcpOption::WindowScale(10),
        ]
    ));
    assert!(tcp.payload().is_empty());
}

#[test]
fn kernel_packets_have_valid_checksums() {
    for text in samples::WHOLE {
        let mut packet = bytes(text);
        assert!(
            verify_transport_checksum(&IpPacket::parse(&packet).unwrap()),
            "{text}"
        );
        *packet.last_mut().unwrap() ^= 1;
        assert!(
            !verify_transport_checksum(&IpPacket::parse(&packet).unwrap()),
            "{text}"
        );
    }
}

#[test]
fn reads_datagrams_of_both_versions() {
    for text in [samples::DNS_V4, samples::DNS_V6] {
        let mut packet = bytes(text);
        let length = packet.len();
        packet.extend_from_slice(&[0; 13]);
        let parsed = IpPacket::parse(&packet).unwrap();
        assert_eq!(parsed.bytes().len(), length, "padding is left out");
        assert_eq!(parsed.dscp(), 46);
        let Transport::Udp(udp) = parsed.transport() else {
            panic!("{parsed:?}")
        };
        assert_eq!(
            (udp.destination_port(), udp.length(), udp.payload()),
            (53, 13, &b"hello"[..])
        );
    }
}

#[test]
fn reads_echoes_of_both_versions() {
    for text in [samples::PING_V4, samples::PING_V6] {
        let packet = bytes(text);
        let Transport::Icmp(icmp) = IpPacket::parse(&packet).unwrap().transport() else {
            panic!("{text}")
        };
        let echo = Echo {
            identifier: 0x1234,
            sequence: 1,
        };
        assert_eq!(icmp.message(), IcmpMessage::EchoRequest(echo));
        assert_eq!(icmp.payload(), b"ping!");
        assert!(!icmp.is_error());
    }
}

#[test]
fn skips_extension_headers() {
    let packet = bytes(samples::MLD_V6);
    let parsed = IpPacket::parse(&packet).unwrap();
    assert_eq!(
        (parsed.header_length(), parsed.protocol()),
        (48, Protocol::ICMP_V6)
    );
}

#[test]
fn skips_an_authentication_header_which_counts_in_words() {
    let mut packet = bytes(samples::PING_V6);
    packet.splice(
        40..40,
        bytes("3a040000000000010000000100112233445566778899aabb"),
    );
    (packet[5], packet[6]) = ((packet.len() - 40) as u8, 51);
    let parsed = IpPacket::parse(&packet).unwrap();
    assert_eq!(
        (parsed.header_length(), parsed.protocol()),
        (64, Protocol::ICMP_V6)
    );
    assert!(verify_transport_checksum(&parsed));
}

#[test]
fn reads_congestion_marks_of_both_versions() {
    let marks = [
        Ecn::NotCapable,
        Ecn::Capable1,
        Ecn::Capable0,
        Ecn::CongestionExperienced,
    ];
    for (bits, expected) in (0..).zip(marks) {
        let (mut v4, mut v6) = (bytes(samples::DNS_V4), bytes(samples::DNS_V6));
        v4[1] |= bits;
        v6[1] |= bits << 4;
        for packet in [v4, v6] {
            let parsed = IpPacket::parse(&packet).unwrap();
            assert_eq!((parsed.ecn(), parsed.dscp()), (expected, 46));
        }
    }
}

#[test]
fn a_mark_changes_the_field_alone_and_only_where_it_is_understood() {
    let fields = [
        Ecn::NotCapable,
        Ecn::Capable1,
        Ecn::Capable0,
        Ecn::CongestionExperienced,
    ];
    for field in fields {
        let (mut v4, mut v6) = (bytes(samples::SYN_V4), bytes(samples::SYN_V6));
        v4[1] |= field.bits();
        v6[1] |= field.bits() << 4;
        Ipv4Mut::parse(&mut v4).unwrap().fill_header_checksum();
        for before in [v4, v6] {
            let mut after = packet(&before);
            assert_eq!(after.mark_congestion(), Some(field));
            let parsed = IpPacket::parse(&after).unwrap();
            if field == Ecn::NotCapable {
                assert_eq!(*after, before);
                continue;
            }
            assert_eq!(parsed.ecn(), Ecn::CongestionExperienced);
            if let IpView::V4(view) = parsed.view() {
                assert!(view.header_checksum_is_valid());
            }
            assert!(verify_transport_checksum(&parsed));
            let others = |packet: &[u8]| packet.iter().skip(12).copied().collect::<Vec<_>>();
            assert_eq!(others(&after), others(&before));
        }
    }
    for nothing in [&[][..], &[0x45], &[0x45, 2, 0], &[0x60, 0x20], &[0x12; 60]] {
        let mut after = packet(nothing);
        assert_eq!(after.mark_congestion(), None);
        assert_eq!(&*after, nothing);
    }
}

#[test]
fn a_routing_header_with_segments_left_is_not_skipped() {
    let mut packet = bytes(samples::MLD_V6);
    packet[6] = 43;
    packet[43] = 1;
    let parsed = IpPacket::parse(&packet).unwrap();
    assert!(matches!(parsed.transport(), Transport::Other(Protocol(43))));
    packet[43] = 0;
    let parsed = IpPacket::parse(&packet).unwrap();
    assert!(matches!(parsed.transport(), Transport::Icmp(_)));
}

#[test]
fn tells_fragments_apart() {
    for (first, second) in [
        (samples::FIRST_FRAGMENT_V4, samples::SECOND_FRAGMENT_V4),
        (samples::FIRST_FRAGMENT_V6, samples::SECOND_FRAGMENT_V6),
    ] {
        let (first, second) = (with_payload(first), with_payload(second));
        let first = IpPacket::parse(&first).unwrap();
        let second = IpPacket::parse(&second).unwrap();
        let (start, end) = (first.fragment().unwrap(), second.fragment().unwrap());
        assert_eq!((start.offset, start.more, end.more), (0, true, false));
        assert_eq!(usize::from(end.offset), first.payload().len());
        assert_eq!(start.identification, end.identification);
        let Transport::Udp(udp) = first.transport() else {
            panic!("{first:?}")
        };
        assert_eq!((udp.destination_port(), udp.length()), (2049, 1608));
        assert!(matches!(second.transport(), Transport::Fragment));
        assert_eq!(FlowKey::of(&first), FlowKey::of(&second));
        assert!(!verify_transport_checksum(&first) && !verify_transport_checksum(&second));
    }
}

#[test]
fn fragments_follow_each_other_also_behind_other_headers() {
    // Destination options lie in the part that is fragmented: only the first fragment shows UDP.
    let fragment = |offset: &str, payload: &str| {
        let mut packet = bytes(samples::DNS_V6);
        packet.truncate(40);
        packet.extend(bytes(&format!("3c00{offset}00000009{payload}")));
        (packet[5], packet[6]) = ((packet.len() - 40) as u8, 44);
        packet
    };
    let first = fragment("0001", "11000104000000000035003500ff0000");
    let second = fragment("0010", "1100010400000000");
    let (first, second) = (
        IpPacket::parse(&first).unwrap(),
        IpPacket::parse(&second).unwrap(),
    );
    assert!(matches!(first.transport(), Transport::Udp(_)));
    assert_eq!((first.header_length(), second.header_length()), (56, 48));
    assert!(matches!(second.transport(), Transport::Fragment));
    assert_eq!(FlowKey::of(&first), FlowKey::of(&second));
}

#[test]
fn an_atomic_fragment_is_a_whole_datagram() {
    let mut packet = bytes(samples::MLD_V6);
    packet[6] = 44;
    packet[41..48].fill(0);
    let parsed = IpPacket::parse(&packet).unwrap();
    assert_eq!(parsed.fragment(), None);
    assert!(matches!(parsed.transport(), Transport::Icmp(_)));
}

/// Returns the error for a sample after a change.
fn fault(text: &str, change: &dyn Fn(&mut Vec<u8>)) -> Malformed {
    let mut packet = bytes(text);
    change(&mut packet);
    IpPacket::parse(&packet).unwrap_err()
}

fn too_short(header: Header, needed: usize, available: usize) -> Malformed {
    Malformed::TooShort {
        header,
        needed,
        available,
    }
}

#[test]
fn says_what_is_wrong_with_an_ip_header() {
    assert_eq!(
        fault(samples::SYN_V4, &|p| p.clear()),
        too_short(Header::Ip, 1, 0)
    );
    assert_eq!(
        fault(samples::SYN_V4, &|p| p.truncate(19)),
        too_short(Header::Ipv4, 20, 19)
    );
    assert_eq!(
        fault(samples::SYN_V4, &|p| p[0] = 0x55),
        Malformed::Version {
            header: Header::Ip,
            version: 5
        }
    );
    assert_eq!(
        fault(samples::SYN_V4, &|p| p[0] = 0x44),
        Malformed::HeaderLength {
            header: Header::Ipv4,
            length: 16
        }
    );
    assert_eq!(
        fault(samples::SYN_V4, &|p| p.truncate(59)),
        Malformed::TotalLength {
            header: Header::Ipv4,
            length: 60,
            available: 59
        }
    );
    assert_eq!(
        fault(samples::SYN_V6, &|p| p.truncate(79)),
        Malformed::TotalLength {
            header: Header::Ipv6,
            length: 80,
            available: 79
        }
    );
}

#[test]
fn says_what_is_wrong_behind_an_ip_header() {
    assert_eq!(
        fault(samples::MLD_V6, &|p| p[41] = 9),
        too_short(Header::Ipv6Extension, 80, 56)
    );
    assert_eq!(
        fault(samples::SYN_V4, &|p| p[32] = 0x40),
        Malformed::HeaderLength {
            header: Header::Tcp,
            length: 16
        }
    );
    assert_eq!(
        fault(samples::SYN_V4, &|p| p[32] = 0xf0),
        too_short(Header::Tcp, 60, 40)
    );
    assert_eq!(
        fault(samples::DNS_V4, &|p| p[25] = 14),
        Malformed::TotalLength {
            header: Header::Udp,
            length: 14,
            available: 13
        }
    );
    assert_eq!(
        fault(samples::DNS_V4, &|p| p[25] = 14).to_string(),
        "UDP header: total length 14 does not fit the 13 bytes that are there"
    );
}

fn packet(bytes: &[u8]) -> Packet {
    Packet::new(PacketBuffer::copy_of(bytes))
}

/// What a method changes of a packet, its headers say: whoever reads them anew finds the same.
fn change<R>(packet: &Packet, method: impl FnOnce(&mut Packet) -> R) {
    let mut changed = packet.clone();
    method(&mut changed);
    let anew = IpPacket::parse(&changed);
    match (changed.ip(), anew) {
        (Some(kept), Ok(anew)) => assert_eq!(format!("{kept:?}"), format!("{anew:?}")),
        (None, Err(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// Calls everything that changes a packet.
fn exercise_changes(bytes: &[u8]) {
    for (segment_size, checksum) in [(0, Checksum::Unverified), (7, Checksum::Partial)] {
        let mut packet = packet(bytes).with_checksum(checksum);
        packet.segment_size = segment_size;
        change(&packet, Packet::mark_congestion);
        change(&packet, Packet::drop_first_segment);
        change(&packet, |packet| packet.clamp_maximum_segment_size(500));
        change(&packet, Packet::store_pseudo_header_checksum);
        let options = TcpSegmentOptions {
            maximum_segment_size: Some(9),
            ..TcpSegmentOptions::default()
        };
        change(&packet, |packet| {
            packet.set_tcp_options(&OptionBytes::of(&options));
        });
        for start in 0..40 {
            let place = PartialChecksum { start, offset: 1 };
            change(&packet, |packet| packet.complete_checksum(place));
        }
    }
}

/// Calls everything that takes a packet.
fn exercise(packet: &mut [u8]) {
    exercise_changes(packet);
    let _ = FlowKey::of_original(packet);
    let mut copy = vec![0; packet.len()];
    if let Ok(parsed) = IpPacket::parse(packet) {
        if let Ok(segments) = Segments::of(&parsed, 100) {
            for index in 0..segments.count() {
                segments.write(index, &mut copy);
            }
        }
        let (_, _) = (FlowKey::of(&parsed).reversed(), Class::of(&parsed));
        let (_, _) = (
            verify_transport_checksum(&parsed),
            packet_too_big(&parsed, 1280),
        );
        let (_, _, _) = (parsed.ecn(), parsed.time_to_live(), parsed.payload());
        match parsed.transport() {
            Transport::Tcp(tcp) => {
                for option in tcp.options() {
                    if let Ok(TcpOption::Sack(blocks)) = option {
                        assert!((1..=4).contains(&blocks.iter().len()));
                    }
                }
            }
            Transport::Icmp(icmp) => drop(format!("{:?}", icmp.message())),
            _ => {}
        }
    }
    let _ = wire::checksum::fill_transport_checksum(packet);
    let mut packet = self::packet(packet);
    if let Some(place) = packet.store_pseudo_header_checksum() {
        packet.complete_checksum(place).unwrap();
    }
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(mut packet in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise(&mut packet);
        for version in [0x45, 0x46, 0x60] {
            if let Some(first) = packet.first_mut() {
                *first = version;
                exercise(&mut packet);
            }
        }
    }

    #[test]
    fn no_change_of_a_packet_causes_a_panic(
        sample in prop::sample::select(vec![
            samples::SYN_V4, samples::SYN_V6, samples::DNS_V4, samples::DNS_V6,
            samples::PING_V4, samples::PING_V6, samples::MLD_V6,
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut packet = bytes(sample);
        for (place, value) in changes {
            let place = place.index(packet.len());
            packet[place] = value;
        }
        exercise(&mut packet.clone());
        packet.truncate(kept.index(packet.len() + 1));
        exercise(&mut packet);
    }
}
