//! Answers to a packet that opens a connection, sent without a connection.

use units::SeqNumber;

use super::{ACKNOWLEDGMENT_NUMBER, DATA_OFFSET, FLAGS, HEADER_LENGTH, TcpFlags};
use crate::checksum::fill_transport_checksum;
use crate::field::{write_u16, write_u32};
use crate::ip::{AtomicHeader, IpPacket, IpView, PlainHeader, Protocol, Transport};
use crate::packet::{HEADROOM, PacketBuffer};

/// Returns the reset with which the destination of `original` refuses the connection that it opens (RFC 9293
/// §3.10.7.1); `None` for packets that open none.
pub fn connection_refused(original: &IpPacket<'_>) -> Option<PacketBuffer> {
    answer(original, TcpFlags::RST | TcpFlags::ACK, |asked| asked + 1)
}

/// Returns an answer to a packet that opens a connection; it acknowledges `number`, which is wrong unless it follows
/// the packet's own sequence number. A host that is present then sends a reset with this number and repeats its SYN
/// (RFC 9293 §3.10.7.3). `None` for packets that open no connection.
pub fn connection_challenged(original: &IpPacket<'_>, number: SeqNumber) -> Option<PacketBuffer> {
    answer(original, TcpFlags::SYN | TcpFlags::ACK, |_| number)
}

/// Returns the answer with these flags. Its acknowledgement number is `acknowledge` of the sequence number of
/// `original`.
fn answer(
    original: &IpPacket<'_>,
    flags: TcpFlags,
    acknowledge: impl FnOnce(SeqNumber) -> SeqNumber,
) -> Option<PacketBuffer> {
    let Transport::Tcp(tcp) = original.transport() else {
        return None;
    };
    if !tcp.asks_for_connection() {
        return None;
    }
    let mut packet = PacketBuffer::with_room(HEADROOM + 40 + HEADER_LENGTH, HEADROOM);
    match original.view() {
        IpView::V4(ip) => {
            let header = AtomicHeader {
                total_length: (20 + HEADER_LENGTH) as u16,
                protocol: Protocol::TCP,
                source: ip.destination(),
                destination: ip.source(),
            };
            packet.extend(&header.emit());
        }
        IpView::V6(ip) => {
            let header = PlainHeader {
                payload_length: HEADER_LENGTH as u16,
                protocol: Protocol::TCP,
                source: ip.destination(),
                destination: ip.source(),
            };
            packet.extend(&header.emit());
        }
    }
    let mut segment = [0; HEADER_LENGTH];
    write_u16(&mut segment, 0, tcp.destination_port());
    write_u16(&mut segment, 2, tcp.source_port());
    let next = acknowledge(tcp.sequence_number());
    write_u32(&mut segment, ACKNOWLEDGMENT_NUMBER, next.0);
    segment[DATA_OFFSET] = (HEADER_LENGTH / 4 * 16) as u8;
    segment[FLAGS] = flags.0;
    packet.extend(&segment);
    let filled = fill_transport_checksum(&mut packet);
    debug_assert_eq!(filled, Ok(()), "our own packet can be read");
    Some(packet)
}
