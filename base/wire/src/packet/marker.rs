//! Markers: datagrams that follow others of their flow, and show that these have passed.

use super::{Packet, PacketBuffer};
use crate::checksum::Sum;
use crate::ip::{Transport, Version};
use crate::udp;

impl Packet {
    /// Returns a marker of the flow of a UDP datagram: an empty datagram whose time to live has ended, so no host sends
    /// one. `None` for a packet of another kind, for fragments, and for headers with options.
    pub fn marker(&self) -> Option<Self> {
        let ip = self.ip()?;
        let (Transport::Udp(_), None) = (ip.transport(), ip.fragment()) else {
            return None;
        };
        let header = ip.header_length();
        let mut bytes = ip.bytes().get(..header + udp::HEADER_LENGTH)?.to_vec();
        let length = udp::HEADER_LENGTH as u16;
        match (ip.version(), header) {
            (Version::V4, 20) => {
                bytes[2..4].copy_from_slice(&(header as u16 + length).to_be_bytes());
                // Time to live, and the checksum of the header (RFC 791).
                bytes[8] = 0;
                bytes[10..12].fill(0);
                let checksum = Sum::of(&bytes[..header]).checksum();
                bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            (Version::V6, 40) => {
                bytes[4..6].copy_from_slice(&length.to_be_bytes());
                bytes[7] = 0;
            }
            (Version::V4 | Version::V6, _) => return None,
        }
        bytes[header + udp::LENGTH..][..2].copy_from_slice(&length.to_be_bytes());
        bytes[header + udp::CHECKSUM..].fill(0);
        Some(Self::new(PacketBuffer::copy_of(&bytes)))
    }

    /// Returns true for a marker.
    pub fn is_marker(&self) -> bool {
        self.ip().is_some_and(|ip| {
            let is_empty = ip.bytes().len() == ip.header_length() + udp::HEADER_LENGTH;
            is_empty && ip.time_to_live() == 0 && matches!(ip.transport(), Transport::Udp(_))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowKey;

    /// Returns a datagram of UDP with 4 bytes, in a packet of this version.
    fn datagram(version: Version) -> Packet {
        let mut bytes = match version {
            Version::V4 => vec![
                0x45, 0xb8, 0, 32, 1, 2, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 10, 9, 0, 2,
            ],
            Version::V6 => [&[0x6b, 0x80, 0, 0, 0, 12, 17, 64][..], &[0xfd; 32]].concat(),
        };
        bytes.extend([0x13, 0x88, 0x17, 0x70, 0, 12, 7, 7, 1, 2, 3, 4]);
        Packet::new(PacketBuffer::copy_of(&bytes))
    }

    #[test]
    fn a_marker_is_of_the_flow_and_has_no_content() {
        for version in [Version::V4, Version::V6] {
            let datagram = datagram(version);
            let marker = datagram.marker().expect("a marker");
            assert!(marker.is_marker() && !datagram.is_marker());
            let flows = [&datagram, &marker].map(|packet| FlowKey::of(&packet.ip().expect("IP")));
            assert_eq!(flows[0], flows[1]);
            assert_eq!(marker.ip().expect("IP").dscp(), 46);
            assert_eq!(marker.data_segments(), 0);
            assert_eq!(
                marker.marker().map(|again| again.to_vec()),
                Some(marker.to_vec())
            );
        }
    }

    #[test]
    fn other_packets_have_none() {
        let mut fragment = datagram(Version::V4).to_vec();
        fragment[6] = 0x20;
        let mut tcp = datagram(Version::V4).to_vec();
        tcp[9] = 6;
        for bytes in [fragment, tcp, vec![1, 2, 3]] {
            let packet = Packet::new(PacketBuffer::copy_of(&bytes));
            assert!(packet.marker().is_none() && !packet.is_marker());
        }
    }
}
