//! What a packet that asks for a connection is answered with, without a connection.

use units::SeqNumber;

use super::{ACKNOWLEDGMENT_NUMBER, DATA_OFFSET, FLAGS, HEADER_LENGTH, TcpFlags};
use crate::checksum::fill_transport_checksum;
use crate::field::{write_u16, write_u32};
use crate::ip::{AtomicHeader, IpPacket, IpView, PlainHeader, Protocol, Transport};
use crate::packet::{HEADROOM, PacketBuffer};

/// The reset with which the destination of `original` refuses the connection that it asks for (RFC 9293 §3.10.7.1);
/// nothing for packets that ask for none.
pub fn connection_refused(original: &IpPacket<'_>) -> Option<PacketBuffer> {
    answer(original, TcpFlags::RST | TcpFlags::ACK, |asked| asked + 1)
}

/// An answer to a packet that asks for a connection which acknowledges `number`, and so cannot be right unless that is
/// the one that follows its own: a host that is there resets it, and its reset bears this number; then it goes on
/// asking (RFC 9293 §3.10.7.3). Nothing for packets that ask for none.
pub fn connection_challenged(original: &IpPacket<'_>, number: SeqNumber) -> Option<PacketBuffer> {
    answer(original, TcpFlags::SYN | TcpFlags::ACK, |_| number)
}

/// The answer with these flags, which acknowledges what `acknowledge` makes of the number of a first segment.
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
