//! The traffic of the applications.

use std::sync::LazyLock;

use wire::ip::Protocol;
use wire::packet::{Checksum, Packet, PacketBuffer};

/// Bytes of payload in a bulk packet.
pub const PAYLOAD: usize = 1_428;
/// Bytes of the transport header, with what a datagram has in place of the rest of a segment's.
const HEADER: usize = 32;
/// Bytes of a flow after which its content repeats.
const PERIOD: usize = 7 * 256;

/// A source of TCP packets, or of datagrams, at one end.
pub struct Traffic {
    /// Destination port, by which the flow is told from others.
    pub port: u16,
    /// The end that sends.
    pub from: usize,
    ipv6: bool,
    /// True if it sends datagrams of UDP.
    pub(crate) is_call: bool,
    sequence: u32,
    sent: u64,
}

impl Traffic {
    /// A flow from the fixed host to the mobile that always has packets waiting.
    pub fn bulk(port: u16) -> Self {
        Self {
            port,
            from: 1,
            ipv6: false,
            is_call: false,
            sequence: 0,
            sent: 0,
        }
    }

    /// One from the mobile to the fixed host.
    pub fn upload(port: u16) -> Self {
        Self {
            from: 0,
            ..Self::bulk(port)
        }
    }

    /// The same flow over IPv6.
    #[must_use]
    pub fn over_ipv6(self) -> Self {
        Self { ipv6: true, ..self }
    }

    /// The next packet, of the usual length.
    pub fn full_packet(&mut self) -> Packet {
        self.packet(PAYLOAD)
    }

    /// The next packet of the flow.
    pub fn packet(&mut self, payload: usize) -> Packet {
        let mut bytes = if self.ipv6 {
            self.ipv6_header(payload)
        } else {
            self.ipv4_header(payload)
        };
        bytes.extend([0x00, 80]);
        bytes.extend(self.port.to_be_bytes());
        if self.is_call {
            bytes.extend(((HEADER + payload) as u16).to_be_bytes());
            bytes.extend([0; 2]);
            bytes.extend(self.sequence.to_be_bytes());
            bytes.extend([0; HEADER - 12]);
        } else {
            bytes.extend(self.sequence.to_be_bytes());
            bytes.extend([0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
            bytes.extend((self.sent as u32 / 20).to_be_bytes());
            bytes.extend([0, 0, 0, 7]);
        }
        bytes.extend(content(self.sequence, payload));
        self.sequence = self.sequence.wrapping_add(payload as u32);
        self.sent += 1;
        let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
        packet.checksum = Checksum::Verified;
        packet
    }

    fn protocol(&self) -> u8 {
        let protocol = if self.is_call {
            Protocol::UDP
        } else {
            Protocol::TCP
        };
        protocol.0
    }

    fn ipv4_header(&self, payload: usize) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, self.protocol(), 0, 0];
        bytes[2..4].copy_from_slice(&((20 + HEADER + payload) as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&(self.sent as u16).to_be_bytes());
        let ends = [[10, 9, 0, 2], [192, 0, 2, 1]];
        bytes.extend(ends[self.from]);
        bytes.extend(ends[1 - self.from]);
        bytes
    }

    fn ipv6_header(&self, payload: usize) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, self.protocol(), 64];
        bytes[4..6].copy_from_slice(&((HEADER + payload) as u16).to_be_bytes());
        let ends = ["fd09::2", "2001:db8::1"];
        let ends = ends.map(|text| text.parse::<std::net::Ipv6Addr>().expect("an address"));
        bytes.extend(ends[self.from].octets());
        bytes.extend(ends[1 - self.from].octets());
        bytes
    }
}

/// Returns the content of so many bytes of a flow, from a sequence number on.
fn content(sequence: u32, length: usize) -> &'static [u8] {
    static CONTENT: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..PERIOD + 0x1_0000).map(|at| (at / 7) as u8).collect());
    let start = sequence as usize % PERIOD;
    &CONTENT[start..start + length]
}

/// Counters of a flow's receiver.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes of payload.
    pub payload: u64,
    /// Nothing was missing, doubled, moved or changed.
    pub in_order: bool,
    /// Number of packets that began before the end of the latest one.
    pub late: u64,
    next: u32,
}

impl Received {
    /// Returns the counters before the first packet.
    pub fn begin() -> Self {
        Self {
            in_order: true,
            ..Self::default()
        }
    }

    /// Notes a packet; flows start at sequence number 0.
    pub fn note(&mut self, packet: &Packet) {
        let segment = transport_of(packet);
        let at = if protocol_of(packet) == Protocol::UDP.0 {
            8
        } else {
            4
        };
        let sequence = std::array::from_fn(|index| segment[at + index]);
        let sequence = u32::from_be_bytes(sequence);
        let payload = &segment[HEADER..];
        let end = sequence.wrapping_add(payload.len() as u32);
        self.in_order &= self.next == sequence;
        self.in_order &= payload == content(sequence, payload.len());
        if sequence.wrapping_sub(self.next) as i32 >= 0 {
            self.next = end;
        } else {
            self.late += 1;
        }
        self.packets += 1;
        self.payload += payload.len() as u64;
    }
}

fn transport_of(packet: &Packet) -> &[u8] {
    let header = if packet[0] >> 4 == 4 { 20 } else { 40 };
    &packet[header..]
}

fn protocol_of(packet: &Packet) -> u8 {
    packet[if packet[0] >> 4 == 4 { 9 } else { 6 }]
}

/// The destination port of a packet made here.
pub fn port_of(packet: &Packet) -> u16 {
    let segment = transport_of(packet);
    u16::from_be_bytes([segment[2], segment[3]])
}
