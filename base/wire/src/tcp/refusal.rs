//! "Connection refused" in answer to a packet.

use super::{ACKNOWLEDGMENT_NUMBER, DATA_OFFSET, FLAGS, HEADER_LENGTH, TcpFlags};
use crate::checksum::fill_transport_checksum;
use crate::field::{write_u16, write_u32};
use crate::ip::{AtomicHeader, IpPacket, IpView, PlainHeader, Protocol, Transport};
use crate::packet::{HEADROOM, PacketBuffer};

/// The reset with which the destination of `original` refuses the connection that it asks for (RFC 9293 §3.10.7.1);
/// nothing for packets that ask for none.
pub fn connection_refused(original: &IpPacket<'_>) -> Option<PacketBuffer> {
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
    let mut reset = [0; HEADER_LENGTH];
    write_u16(&mut reset, 0, tcp.destination_port());
    write_u16(&mut reset, 2, tcp.source_port());
    let next = tcp.sequence_number() + 1;
    write_u32(&mut reset, ACKNOWLEDGMENT_NUMBER, next.0);
    reset[DATA_OFFSET] = (HEADER_LENGTH / 4 * 16) as u8;
    reset[FLAGS] = (TcpFlags::RST | TcpFlags::ACK).0;
    packet.extend(&reset);
    let filled = fill_transport_checksum(&mut packet);
    debug_assert_eq!(filled, Ok(()), "our own packet can be read");
    Some(packet)
}
