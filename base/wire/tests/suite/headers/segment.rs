//! Segments carry what the packet carried, each as if the sender had cut it.

use proptest::prelude::*;
use wire::checksum::verify_transport_checksum;
use wire::ip::{IpPacket, IpView, Protocol, Transport};
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::segment::{SegmentError, Segments};
use wire::tcp::TcpFlags;

use super::samples::{self, bytes, carrying, with_payload};

/// Headers to carry a payload: text, length.
const TCP_V4: (&str, usize) = (samples::SYN_V4, 60);
const TCP_V6: (&str, usize) = (samples::SYN_V6, 80);
const UDP_V4: (&str, usize) = (samples::DNS_V4, 28);
const UDP_V6: (&str, usize) = (samples::DNS_V6, 48);

fn large(headers: (&str, usize), flags: TcpFlags, payload: &[u8]) -> Vec<u8> {
    let mut packet = carrying(headers.0, headers.1, payload);
    if let Transport::Tcp(_) = IpPacket::parse(&packet).unwrap().transport() {
        let start = if packet[0] >> 4 == 4 { 20 } else { 40 };
        packet[start + 13] = flags.0;
    }
    packet
}

fn segments(packet: &[u8], size: u16) -> Vec<Vec<u8>> {
    let segments = Segments::of(&IpPacket::parse(packet).unwrap(), size).unwrap();
    (0..segments.count())
        .map(|index| {
            let mut segment = vec![0xaa; segments.length(index)];
            assert_eq!(segments.write(index, &mut segment), segment.len());
            let whole = segments.packet(index);
            assert_eq!(&*whole, &segment[..]);
            let anew = Packet::new(PacketBuffer::copy_of(&segment));
            assert_eq!(whole, anew.with_checksum(Checksum::Verified));
            segment
        })
        .collect()
}

fn flags(segment: &[u8]) -> TcpFlags {
    let Transport::Tcp(tcp) = IpPacket::parse(segment).unwrap().transport() else {
        panic!("not TCP")
    };
    tcp.flags()
}

#[test]
fn flags_go_where_they_belong() {
    let all = TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN | TcpFlags::CWR;
    for headers in [TCP_V4, TCP_V6] {
        let cut = segments(&large(headers, all, &[7; 250]), 100);
        let seen: Vec<_> = cut.iter().map(|segment| flags(segment)).collect();
        let first = TcpFlags::ACK | TcpFlags::CWR;
        let last = TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN;
        assert_eq!(seen, [first, TcpFlags::ACK, last]);
    }
}

#[test]
fn a_small_packet_is_its_own_segment() {
    for text in [
        samples::SYN_V4,
        samples::SYN_V6,
        samples::DNS_V4,
        samples::DNS_V6,
    ] {
        let packet = bytes(text);
        assert_eq!(segments(&packet, 1000), std::slice::from_ref(&packet));
        assert_eq!(segments(&packet, 0), std::slice::from_ref(&packet));
    }
}

#[test]
fn a_datagram_without_checksum_stays_without() {
    let mut packet = carrying(UDP_V4.0, UDP_V4.1, &[7; 20]);
    packet[26..28].fill(0);
    for segment in segments(&packet, 10) {
        assert_eq!(segment[26..28], [0, 0]);
    }
}

#[test]
fn says_what_it_cannot_cut() {
    let error = |packet: &[u8]| Segments::of(&IpPacket::parse(packet).unwrap(), 9).unwrap_err();
    let fragment = with_payload(samples::FIRST_FRAGMENT_V4);
    assert_eq!(error(&fragment), SegmentError::Fragment);
    let ping = bytes(samples::PING_V4);
    let error = error(&ping);
    assert_eq!(error, SegmentError::Protocol(Protocol::ICMP));
    assert_eq!(
        error.to_string(),
        "protocol 1 cannot be cut into segments, only TCP and UDP can"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn segments_join_to_the_packet(
        headers in prop::sample::select(vec![TCP_V4, TCP_V6, UDP_V4, UDP_V6]),
        payload in prop::collection::vec(any::<u8>(), 0..5000),
        size in 1_u16..1500,
    ) {
        let packet = large(headers, TcpFlags::ACK | TcpFlags::PSH, &payload);
        let whole = IpPacket::parse(&packet).unwrap();
        let mut joined = Vec::new();
        for (index, segment) in segments(&packet, size).iter().enumerate() {
            let parsed = IpPacket::parse(segment).unwrap();
            prop_assert!(verify_transport_checksum(&parsed));
            prop_assert_eq!(parsed.bytes().len(), segment.len());
            prop_assert_eq!(parsed.source(), whole.source());
            if let (IpView::V4(part), IpView::V4(whole)) = (parsed.view(), whole.view()) {
                prop_assert!(part.header_checksum_is_valid());
                let expected = whole.identification().wrapping_add(index as u16);
                prop_assert_eq!(part.identification(), expected);
            }
            let carried = match (parsed.transport(), whole.transport()) {
                (Transport::Tcp(part), Transport::Tcp(whole)) => {
                    let expected = whole.sequence_number() + joined.len() as u32;
                    prop_assert_eq!(part.sequence_number(), expected);
                    prop_assert!(part.options().eq(whole.options()));
                    part.payload()
                }
                (Transport::Udp(part), Transport::Udp(_)) => part.payload(),
                other => panic!("{other:?}"),
            };
            prop_assert!(carried.len() <= usize::from(size));
            joined.extend_from_slice(carried);
        }
        prop_assert_eq!(joined, payload);
    }
}
