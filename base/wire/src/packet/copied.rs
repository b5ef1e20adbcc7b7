//! Copies: segments of TCP that a gateway keeps for a mobile host which is about to come there.

use super::Packet;
use crate::ip::Transport;
use crate::tcp::SeqRange;

/// Time to live of a segment of which only a copy is known; the number that IANA recommends.
const TIME_TO_LIVE: u8 = 64;

impl Packet {
    /// Returns the part of its connection's sequence that a segment of TCP takes, with SYN and FIN; `None` for one that
    /// takes none, for fragments, and for packets of another protocol.
    pub fn sequence(&self) -> Option<SeqRange> {
        let ip = self.ip().filter(|ip| ip.fragment().is_none())?;
        let Transport::Tcp(tcp) = ip.transport() else {
            return None;
        };
        Some(tcp.sequence()).filter(|range| !range.is_empty())
    }

    /// Returns a copy of a segment that takes part of its connection's sequence. Its time to live has ended, so no host
    /// sends one.
    pub fn marked_copy(&self) -> Option<Self> {
        self.sequence()?;
        let mut copy = self.clone();
        copy.set_time_to_live(0);
        Some(copy)
    }

    /// Returns true for a copy.
    pub fn is_marked_copy(&self) -> bool {
        self.ip().is_some_and(|ip| ip.time_to_live() == 0) && self.sequence().is_some()
    }

    /// Returns the segment of which this is a copy.
    #[must_use]
    pub fn without_mark(mut self) -> Self {
        self.set_time_to_live(TIME_TO_LIVE);
        self
    }

    fn set_time_to_live(&mut self, value: u8) {
        if let Some(layout) = self.layout {
            layout.set_time_to_live(&mut self.buffer, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use units::SeqNumber;

    use super::*;
    use crate::ip::{Ipv4View, Version};
    use crate::packet::PacketBuffer;

    /// Returns a segment with these flags and this many bytes, in a packet of this version.
    fn segment(version: Version, flags: u8, data: usize) -> Packet {
        let length = 20 + data as u8;
        let mut bytes = match version {
            Version::V4 => {
                let mut header = vec![0x45, 0, 0, 20 + length, 0, 0, 0x40, 0, 61, 6, 0, 0];
                header.extend([192, 0, 2, 1, 10, 9, 0, 2]);
                let checksum = crate::checksum::Sum::of(&header).checksum();
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                header
            }
            Version::V6 => [&[0x60, 0, 0, 0, 0, length, 6, 61][..], &[0xfd; 32]].concat(),
        };
        bytes.extend([0, 80, 19, 136, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 7]);
        bytes.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
        bytes.extend(vec![1; data]);
        Packet::new(PacketBuffer::copy_of(&bytes))
    }

    #[test]
    fn a_copy_is_as_its_segment_but_for_its_time_to_live() {
        for version in [Version::V4, Version::V6] {
            let segment = segment(version, 0x10, 8);
            let copy = segment.marked_copy().expect("a copy");
            assert!(copy.is_marked_copy() && !segment.is_marked_copy());
            assert_eq!(copy.sequence(), segment.sequence());
            let whole = copy.without_mark();
            assert!(!whole.is_marked_copy());
            assert_eq!(whole.ip().map(|ip| ip.time_to_live()), Some(64));
            let differ =
                |(place, (one, other)): (usize, (&u8, &u8))| (one != other).then_some(place);
            let places: Vec<_> = whole
                .iter()
                .zip(segment.iter())
                .enumerate()
                .filter_map(differ)
                .collect();
            match version {
                Version::V4 => {
                    let view = Ipv4View::parse(&whole).expect("a header");
                    assert!(view.header_checksum_is_valid());
                    assert!(
                        places.iter().all(|place| [8, 10, 11].contains(place)),
                        "{places:?}"
                    );
                }
                Version::V6 => assert_eq!(places, [7]),
            }
        }
    }

    #[test]
    fn only_what_takes_part_of_a_sequence_has_a_copy() {
        let ends = |flags, data| {
            let range = segment(Version::V4, flags, data).sequence();
            range.map(|range| range.end)
        };
        // An acknowledgement, a reset, data across the end of the numbers, SYN, and data with FIN.
        assert_eq!(ends(0x10, 0), None);
        assert_eq!(ends(0x14, 0), None);
        assert_eq!(ends(0x10, 8), Some(SeqNumber(6)));
        assert_eq!(ends(0x12, 0), Some(SeqNumber(u32::MAX)));
        assert_eq!(ends(0x11, 8), Some(SeqNumber(7)));
        assert!(segment(Version::V6, 0x10, 0).marked_copy().is_none());
        let mut fragment = segment(Version::V4, 0x10, 8).to_vec();
        fragment[6] = 0x20;
        assert!(
            Packet::new(PacketBuffer::copy_of(&fragment))
                .marked_copy()
                .is_none()
        );
    }
}
