//! Segments that are sent without a connection: requests, and answers to them.

use std::net::IpAddr;

use units::SeqNumber;

use super::{ACKNOWLEDGMENT_NUMBER, DATA_OFFSET, FLAGS, HEADER_LENGTH, SEQUENCE_NUMBER, TcpFlags};
use crate::checksum::fill_transport_checksum;
use crate::field::{write_u16, write_u32};
use crate::flow::Ends;
use crate::ip::{AtomicHeader, IpPacket, PlainHeader, Protocol, Transport};
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

/// Returns the reset that answers an acknowledgement of a connection that does not exist (RFC 9293 §3.10.7.1); `None`
/// for packets that open a connection, acknowledge nothing, or are resets themselves.
pub fn connection_unknown(original: &IpPacket<'_>) -> Option<PacketBuffer> {
    let Transport::Tcp(tcp) = original.transport() else {
        return None;
    };
    let flags = tcp.flags();
    let has_others = flags.contains(TcpFlags::SYN) || flags.contains(TcpFlags::RST);
    if has_others || !flags.contains(TcpFlags::ACK) {
        return None;
    }
    let ends = Ends::of(original).reversed();
    segment(
        ends,
        TcpFlags::RST,
        tcp.acknowledgment_number(),
        SeqNumber(0),
    )
}

/// Returns a packet that requests the connection between `ends`, with a sequence number of 0; `None` if they are of two
/// families. A host that has this connection answers with an acknowledgement of its own numbers (RFC 5961 §4.2).
pub fn connection_requested(ends: Ends) -> Option<PacketBuffer> {
    segment(ends, TcpFlags::SYN, SeqNumber(0), SeqNumber(0))
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
    let acknowledged = acknowledge(tcp.sequence_number());
    segment(
        Ends::of(original).reversed(),
        flags,
        SeqNumber(0),
        acknowledged,
    )
}

/// Returns a segment without data, with this sequence number and this acknowledgement number; `None` if the ends are of
/// two families.
fn segment(
    ends: Ends,
    flags: TcpFlags,
    sequence: SeqNumber,
    acknowledged: SeqNumber,
) -> Option<PacketBuffer> {
    let mut packet = PacketBuffer::with_room(HEADROOM + 40 + HEADER_LENGTH, HEADROOM);
    match (ends.source.ip(), ends.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = AtomicHeader {
                total_length: (20 + HEADER_LENGTH) as u16,
                protocol: Protocol::TCP,
                source,
                destination,
            };
            packet.extend(&header.emit());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = PlainHeader {
                payload_length: HEADER_LENGTH as u16,
                protocol: Protocol::TCP,
                source,
                destination,
            };
            packet.extend(&header.emit());
        }
        _ => return None,
    }
    let mut segment = [0; HEADER_LENGTH];
    write_u16(&mut segment, 0, ends.source.port());
    write_u16(&mut segment, 2, ends.destination.port());
    write_u32(&mut segment, SEQUENCE_NUMBER, sequence.0);
    write_u32(&mut segment, ACKNOWLEDGMENT_NUMBER, acknowledged.0);
    segment[DATA_OFFSET] = (HEADER_LENGTH / 4 * 16) as u8;
    segment[FLAGS] = flags.0;
    packet.extend(&segment);
    let filled = fill_transport_checksum(&mut packet);
    debug_assert_eq!(filled, Ok(()), "our own packet can be read");
    Some(packet)
}
