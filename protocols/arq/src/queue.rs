//! Dropping one segment of a packet that stands for several.

use wire::packet::Packet;

/// Takes the first segment off a TCP super-packet; false if the packet is only itself.
pub(crate) fn drop_first_segment(packet: &mut Packet) -> bool {
    let size = usize::from(packet.segment_size);
    let Some(headers) = header_lengths(&packet.buffer).filter(|_| size > 0) else {
        return false;
    };
    let total = headers.ip + headers.tcp;
    if packet.buffer.len() < total + 2 * size {
        return false;
    }
    packet.buffer.copy_within(..total, size);
    packet.buffer.advance(size);
    let bytes = &mut *packet.buffer;
    let sequence = headers.ip + 4;
    let old = u32::from_be_bytes([
        bytes[sequence],
        bytes[sequence + 1],
        bytes[sequence + 2],
        bytes[sequence + 3],
    ]);
    bytes[sequence..sequence + 4].copy_from_slice(&old.wrapping_add(size as u32).to_be_bytes());
    let length = bytes.len();
    if headers.ip == 20 {
        bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        let id = u16::from_be_bytes([bytes[4], bytes[5]]).wrapping_add(1);
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        bytes[10..12].copy_from_slice(&[0; 2]);
        let sum = wire::checksum::Sum::of(&bytes[..20]).checksum();
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        bytes[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
    }
    let _ = wire::checksum::store_pseudo_header_checksum(bytes);
    packet.checksum = wire::packet::Checksum::Partial;
    if length <= total + size {
        packet.segment_size = 0;
    }
    true
}

struct HeaderLengths {
    ip: usize,
    tcp: usize,
}

fn header_lengths(bytes: &[u8]) -> Option<HeaderLengths> {
    let ip = match bytes.first()? {
        0x45 if *bytes.get(9)? == 6 => 20,
        first if first >> 4 == 6 && *bytes.get(6)? == 6 => 40,
        _ => return None,
    };
    let tcp = usize::from(bytes.get(ip + 12)? >> 4) * 4;
    (tcp >= 20 && bytes.len() >= ip + tcp).then_some(HeaderLengths { ip, tcp })
}
