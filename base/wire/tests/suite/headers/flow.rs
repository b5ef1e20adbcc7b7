//! Flows, their repair classes, and errors that answer packets.

use units::SeqNumber;
use wire::checksum::verify_transport_checksum;
use wire::flow::{Class, DSCP_BULK, Ends, FlowKey};
use wire::icmp::{IcmpMessage, Unreachable, packet_too_big, unreachable};
use wire::ip::{IpPacket, IpView, Protocol, Transport, Version};
use wire::tcp::{
    TcpFlags, connection_challenged, connection_refused, connection_requested, connection_unknown,
};

use super::samples::{self, bytes, carrying, with_payload};

#[test]
fn a_flow_is_named_by_addresses_protocol_and_ports() {
    let syn = bytes(samples::SYN_V6);
    let key = FlowKey::of(&IpPacket::parse(&syn).unwrap());
    assert_eq!((key.version(), key.protocol), (Version::V6, Protocol::TCP));
    assert_eq!(key.source.to_string(), "2001:db8::1");
    assert_eq!(key.destination_port, 80);
    assert_eq!(key.reversed().source_port, 80);
    assert_eq!(key.reversed().reversed(), key);
}

#[test]
fn an_echo_is_named_by_its_identifier() {
    for text in [samples::PING_V4, samples::PING_V6] {
        let ping = bytes(text);
        let key = FlowKey::of(&IpPacket::parse(&ping).unwrap());
        assert_eq!((key.source_port, key.destination_port), (0x1234, 0x1234));
    }
    let report = bytes(samples::MLD_V6);
    let key = FlowKey::of(&IpPacket::parse(&report).unwrap());
    assert_eq!((key.source_port, key.destination_port), (0, 0));
}

#[test]
fn the_flow_of_a_packet_in_error_is_known_from_its_beginning() {
    for text in samples::WHOLE {
        let packet = bytes(text);
        let parsed = IpPacket::parse(&packet).unwrap();
        let least = parsed.header_length() + 8;
        let flow = Some(FlowKey::of(&parsed));
        assert_eq!(FlowKey::of_original(&packet), flow);
        assert_eq!(FlowKey::of_original(&packet[..least]), flow);
        for length in 0..least {
            assert_eq!(FlowKey::of_original(&packet[..length]), None);
        }
    }
    let mut fragment = bytes(samples::SYN_V4);
    fragment[7] = 1;
    let whole = FlowKey::of_original(&bytes(samples::SYN_V4)).unwrap();
    let flow = FlowKey::of_original(&fragment);
    assert_eq!(flow, Some(whole.of_fragments()));
}

#[test]
fn tcp_is_held_and_what_does_not_want_waiting_is_brief() {
    let class = |text: &str| Class::of(&IpPacket::parse(&bytes(text)).unwrap());
    assert_eq!(class(samples::SYN_V4), Class::Held);
    assert_eq!(class(samples::SYN_V6), Class::Held);
    for text in [
        samples::DNS_V4,
        samples::DNS_V6,
        samples::PING_V4,
        samples::MLD_V6,
    ] {
        assert_eq!(class(text), Class::Brief);
    }
    let mut expedited = bytes(samples::SYN_V4);
    expedited[1] = 46 << 2;
    assert_eq!(
        Class::of(&IpPacket::parse(&expedited).unwrap()),
        Class::Brief
    );
}

#[test]
fn datagrams_in_bulk_are_held() {
    for (text, is_v4) in [(samples::DNS_V4, true), (samples::DNS_V6, false)] {
        let mut packet = bytes(text);
        if is_v4 {
            packet[1] = DSCP_BULK << 2;
        } else {
            packet[0] = 0x60 | DSCP_BULK >> 2;
            packet[1] |= DSCP_BULK << 6;
        }
        assert_eq!(Class::of(&IpPacket::parse(&packet).unwrap()), Class::Held);
    }
}

#[test]
fn too_big_is_answered_with_as_much_as_fits() {
    for (headers, length, longest) in [(samples::SYN_V4, 60, 576), (samples::SYN_V6, 80, 1280)] {
        for size in [0, 100, 3000] {
            let packet = carrying(headers, length, &vec![7; size]);
            let original = IpPacket::parse(&packet).unwrap();
            let answer = packet_too_big(&original, 1400).unwrap();
            assert!(answer.len() <= longest);
            let parsed = IpPacket::parse(&answer).unwrap();
            assert!(verify_transport_checksum(&parsed));
            assert_eq!(parsed.bytes().len(), answer.len());
            if let IpView::V4(view) = parsed.view() {
                assert!(view.header_checksum_is_valid());
            }
            assert_eq!(parsed.destination(), original.source());
            let Transport::Icmp(icmp) = parsed.transport() else {
                panic!("{parsed:?}")
            };
            let IcmpMessage::PacketTooBig {
                mtu: 1400,
                original: quoted,
            } = icmp.message()
            else {
                panic!("{:?}", icmp.message())
            };
            assert!(packet.starts_with(quoted));
            assert!(quoted.len() == packet.len() || answer.len() == longest);
            assert!(
                packet_too_big(&parsed, 1400).is_none(),
                "errors are not answered"
            );
        }
    }
}

#[test]
fn too_big_is_not_answered_where_that_is_not_allowed() {
    let refused = |packet: &[u8]| packet_too_big(&IpPacket::parse(packet).unwrap(), 500).is_none();
    assert!(refused(&with_payload(samples::SECOND_FRAGMENT_V6)));
    assert!(refused(&bytes(samples::MLD_V6)), "multicast");
    let mut may_be_fragmented = bytes(samples::SYN_V4);
    may_be_fragmented[6] = 0;
    assert!(refused(&may_be_fragmented));
    let mut broadcast = bytes(samples::SYN_V4);
    broadcast[16..20].fill(255);
    assert!(refused(&broadcast));
}

#[test]
fn a_refusal_answers_the_packet_that_asked() {
    for text in [samples::SYN_V4, samples::SYN_V6] {
        let syn = bytes(text);
        let original = IpPacket::parse(&syn).unwrap();
        let Transport::Tcp(asked) = original.transport() else {
            panic!("the sample is a segment")
        };
        let answer = connection_refused(&original).unwrap();
        let packet = IpPacket::parse(&answer).unwrap();
        assert_eq!(FlowKey::of(&packet), FlowKey::of(&original).reversed());
        assert!(verify_transport_checksum(&packet));
        let Transport::Tcp(reset) = packet.transport() else {
            panic!("it is a segment")
        };
        assert_eq!(reset.flags(), TcpFlags::RST | TcpFlags::ACK);
        assert_eq!(reset.acknowledgment_number(), asked.sequence_number() + 1);
        // A reset is not refused.
        assert!(connection_refused(&packet).is_none());
    }
    let ping = bytes(samples::PING_V4);
    assert!(connection_refused(&IpPacket::parse(&ping).unwrap()).is_none());
}

#[test]
fn a_challenge_acknowledges_what_it_is_told_to() {
    for text in [samples::SYN_V4, samples::SYN_V6] {
        let syn = bytes(text);
        let original = IpPacket::parse(&syn).unwrap();
        let answer = connection_challenged(&original, SeqNumber(7)).unwrap();
        let packet = IpPacket::parse(&answer).unwrap();
        assert_eq!(FlowKey::of(&packet), FlowKey::of(&original).reversed());
        assert!(verify_transport_checksum(&packet));
        let Transport::Tcp(segment) = packet.transport() else {
            panic!("it is a segment")
        };
        assert_eq!(segment.flags(), TcpFlags::SYN | TcpFlags::ACK);
        assert_eq!(segment.acknowledgment_number(), SeqNumber(7));
        assert!(connection_challenged(&packet, SeqNumber(7)).is_none());
    }
}

#[test]
fn a_reset_has_the_number_that_an_unknown_connection_expects() {
    for text in [samples::SYN_V4, samples::SYN_V6] {
        let syn = bytes(text);
        let opening = IpPacket::parse(&syn).unwrap();
        assert!(connection_unknown(&opening).is_none());
        let refusal = connection_refused(&opening).unwrap();
        let refusal = IpPacket::parse(&refusal).unwrap();
        assert!(connection_unknown(&refusal).is_none(), "a reset");
        let mut segment = syn.clone();
        let header = if syn[0] >> 4 == 4 { 20 } else { 40 };
        segment[header + 8..header + 12].copy_from_slice(&9_u32.to_be_bytes());
        segment[header + 13] = TcpFlags::ACK.0;
        let original = IpPacket::parse(&segment).unwrap();
        let answer = connection_unknown(&original).unwrap();
        let packet = IpPacket::parse(&answer).unwrap();
        assert_eq!(Ends::of(&packet), Ends::of(&original).reversed());
        assert!(verify_transport_checksum(&packet));
        let Transport::Tcp(reset) = packet.transport() else {
            panic!("it is a segment")
        };
        assert_eq!(reset.flags(), TcpFlags::RST);
        assert_eq!(reset.sequence_number(), SeqNumber(9));
    }
}

#[test]
fn a_request_opens_the_connection_between_two_ends_of_one_family() {
    for text in [samples::SYN_V4, samples::SYN_V6] {
        let syn = bytes(text);
        let original = IpPacket::parse(&syn).unwrap();
        let ends = Ends::of(&original);
        let request = connection_requested(ends).unwrap();
        let packet = IpPacket::parse(&request).unwrap();
        assert_eq!(Ends::of(&packet), ends);
        assert!(verify_transport_checksum(&packet));
        let Transport::Tcp(segment) = packet.transport() else {
            panic!("it is a segment")
        };
        assert!(segment.asks_for_connection());
    }
    let ends = Ends {
        source: ([192, 0, 2, 1], 1).into(),
        destination: ([0; 16], 2).into(),
    };
    assert!(connection_requested(ends).is_none());
}

#[test]
fn who_cannot_be_reached_is_said_in_the_codes_of_the_version() {
    let all = [
        (Unreachable::Network, 0, 0),
        (Unreachable::Host, 1, 3),
        (Unreachable::Prohibited, 13, 1),
    ];
    for (what, v4, v6) in all {
        for (text, expected) in [(samples::SYN_V4, v4), (samples::SYN_V6, v6)] {
            let syn = bytes(text);
            let answer = unreachable(&IpPacket::parse(&syn).unwrap(), what).unwrap();
            let packet = IpPacket::parse(&answer).unwrap();
            assert!(verify_transport_checksum(&packet));
            let Transport::Icmp(icmp) = packet.transport() else {
                panic!("it is an ICMP message")
            };
            let IcmpMessage::Unreachable { code, original } = icmp.message() else {
                panic!("it tells what cannot be reached")
            };
            assert_eq!((code, original), (expected, &syn[..]));
        }
    }
}
