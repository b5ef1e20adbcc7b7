//! The TCP connections of a mobile host, and the packets that show them to a gateway that has lost its state.
//!
//! A gateway that has lost its address translations refuses the segments of fixed hosts, which end their connections. A
//! mobile host that only receives would wait for ever. One acknowledgement for each connection lets the gateway
//! translate it again, or brings back the fixed host's reset.

use std::collections::BTreeMap;

use units::{Bytes, Instant};
use wire::flow::FlowKey;
use wire::last_segment::LastSegment;
use wire::packet::Packet;

/// Most connections that are kept; the one whose last segment is the oldest makes room.
const CONNECTIONS_MAX: usize = 128;
/// Approximate bytes of an entry, its place in a tree included.
const ENTRY: usize = size_of::<(FlowKey, (Instant, LastSegment))>() + 64;

/// The last segment of each TCP connection that this end has sent for.
#[derive(Debug, Default)]
pub(crate) struct SentSegments(BTreeMap<FlowKey, (Instant, LastSegment)>);

impl SentSegments {
    /// Records a TCP packet that is sent.
    pub(crate) fn sent(&mut self, now: Instant, key: FlowKey, packet: &Packet) {
        let Some(segment) = LastSegment::of(packet) else {
            // It opens or resets the connection.
            self.0.remove(&key);
            return;
        };
        if self.0.len() >= CONNECTIONS_MAX && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, (sent, _))| *sent);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(key, (now, segment));
    }

    /// Returns an acknowledgement for each connection.
    pub(crate) fn acknowledgments(&self) -> impl Iterator<Item = Packet> + '_ {
        self.0.values().map(|(_, segment)| segment.acknowledgment())
    }

    /// Returns the bytes of memory of the table.
    pub(crate) fn memory(&self) -> Bytes {
        Bytes::from(self.0.len() * ENTRY)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use units::Duration;
    use wire::ip::Protocol;
    use wire::packet::PacketBuffer;

    use super::*;

    /// Returns a segment of the connection at `port` with these flags and ten bytes.
    fn packet(port: u16, flags: u8) -> (FlowKey, Packet) {
        let mut bytes = vec![0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 6, 0, 0];
        bytes.extend([10, 9, 0, 2, 192, 0, 2, 1]);
        bytes.extend(port.to_be_bytes());
        bytes.extend([0, 80, 0, 0, 0, 100, 0, 0, 0, 7, 0x50, flags, 1, 0]);
        bytes.extend([0; 14]);
        let key = FlowKey {
            protocol: Protocol::TCP,
            source: IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2)),
            destination: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            source_port: port,
            destination_port: 80,
        };
        (key, Packet::new(PacketBuffer::copy_of(&bytes)))
    }

    #[test]
    fn open_connections_are_acknowledged_and_others_are_not() {
        let mut sent = SentSegments::default();
        // SYN; data; data and FIN; data, then RST; the answer to a SYN.
        let segments = [
            (1, 0x02),
            (2, 0x18),
            (3, 0x19),
            (4, 0x18),
            (4, 0x14),
            (5, 0x12),
        ];
        for (port, flags) in segments {
            let (key, packet) = packet(port, flags);
            sent.sent(Instant::ZERO, key, &packet);
        }
        let mut acknowledgments: Vec<_> = sent.acknowledgments().collect();
        let expected = [(2, 110), (3, 111), (5, 111)];
        assert_eq!(acknowledgments.len(), expected.len());
        for (packet, (port, next)) in acknowledgments.iter_mut().zip(expected) {
            assert_eq!(packet.len(), 40);
            assert_eq!(packet[20..22], u16::to_be_bytes(port));
            assert_eq!(packet[24..28], u32::to_be_bytes(next));
            assert_eq!(packet[28..34], [0, 0, 0, 7, 0x50, 0x10]);
            let bytes = packet.to_vec();
            packet.checksum = wire::packet::Checksum::Unverified;
            packet.verify_checksum();
            assert_eq!(packet.checksum, wire::packet::Checksum::Verified);
            assert_eq!(bytes, packet.to_vec());
        }
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_latest() {
        let mut sent = SentSegments::default();
        for port in 0..1_000_u16 {
            let (key, packet) = packet(port, 0x10);
            sent.sent(
                Instant::ZERO + Duration::from_millis(port.into()),
                key,
                &packet,
            );
        }
        let ports: Vec<_> = sent.0.keys().map(|key| key.source_port).collect();
        assert_eq!(
            ports,
            (1_000 - CONNECTIONS_MAX as u16..1_000).collect::<Vec<_>>()
        );
        assert!(sent.memory() <= Bytes::kibi(64));
    }
}
