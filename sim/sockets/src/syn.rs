//! Connection requests, as packets.

use std::net::{IpAddr, SocketAddr};

use wire::flow::Ends;
use wire::packet::{Packet, PacketBuffer};

/// A TCP header without ports: sequence number 1, a SYN of 20 bytes.
const TCP: [u8; 16] = [0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0];

/// Returns the first segment of a connection.
pub(crate) fn syn(ends: &Ends) -> Packet {
    let mut bytes = match (ends.source, ends.destination) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => {
            vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]
        }
        _ => vec![0x60, 0, 0, 0, 0, 20, 6, 64],
    };
    for end in [ends.source, ends.destination] {
        match end.ip() {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes.extend(ends.source.port().to_be_bytes());
    bytes.extend(ends.destination.port().to_be_bytes());
    bytes.extend(TCP);
    Packet::new(PacketBuffer::copy_of(&bytes))
}
