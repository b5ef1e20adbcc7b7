//! State of a TCP flow that both hosts share after each record.

use crate::checksum::{Sum, pseudo_header};
use crate::ip::{
    IPV4_HEADER_LENGTH as IPV4_HEADER, IPV6_HEADER_LENGTH as IPV6_HEADER, Protocol, Transport,
    Version,
};
use crate::packet::Packet;
use crate::tcp::TcpFlags;

const TCP_HEADER: usize = 20;
/// Largest length of an IPv6 header and a TCP header.
const HEADERS_MAX: usize = 100;
/// The usual layout of options on a connection with timestamps (RFC 7323 appendix A).
const TIMESTAMPS_ONLY: [u8; 4] = [1, 1, 8, 10];

/// The headers of one TCP packet over IP, with access to the fields that change.
#[derive(Clone, Copy)]
pub(super) struct Headers {
    bytes: [u8; HEADERS_MAX],
    length: u8,
    tcp: u8,
}

impl Headers {
    /// Returns the headers of `packet` if it is TCP over IP without IP options or fragments, and its length fields fit
    /// its bytes.
    fn of(packet: &Packet) -> Option<Self> {
        let ip = packet.ip().filter(|ip| ip.protocol() == Protocol::TCP)?;
        let tcp = match ip.version() {
            Version::V4 => IPV4_HEADER,
            Version::V6 => IPV6_HEADER,
        };
        let is_plain = ip.header_length() == tcp && ip.fragment().is_none();
        let Transport::Tcp(segment) = ip.transport() else {
            return None;
        };
        if !is_plain || ip.bytes().len() != packet.len() {
            return None;
        }
        let length = tcp + segment.header_length();
        let mut bytes = [0; HEADERS_MAX];
        bytes[..length].copy_from_slice(&packet[..length]);
        Some(Self {
            bytes,
            length: length as u8,
            tcp: tcp as u8,
        })
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.length)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    fn tcp(&self) -> usize {
        usize::from(self.tcp)
    }

    fn is_ipv4(&self) -> bool {
        self.tcp() == IPV4_HEADER
    }

    fn get<const N: usize>(&self, place: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.bytes[place..place + N]);
        field
    }

    fn set<const N: usize>(&mut self, place: usize, field: [u8; N]) {
        self.bytes[place..place + N].copy_from_slice(&field);
    }

    pub(super) fn sequence(&self) -> u32 {
        u32::from_be_bytes(self.get(self.tcp() + 4))
    }

    pub(super) fn set_sequence(&mut self, value: u32) {
        self.set(self.tcp() + 4, value.to_be_bytes());
    }

    pub(super) fn acknowledgement(&self) -> u32 {
        u32::from_be_bytes(self.get(self.tcp() + 8))
    }

    pub(super) fn set_acknowledgement(&mut self, value: u32) {
        self.set(self.tcp() + 8, value.to_be_bytes());
    }

    pub(super) fn flags(&self) -> u8 {
        self.bytes[self.tcp() + 13]
    }

    pub(super) fn set_flags(&mut self, value: u8) {
        self.bytes[self.tcp() + 13] = value;
    }

    pub(super) fn window(&self) -> u16 {
        u16::from_be_bytes(self.get(self.tcp() + 14))
    }

    pub(super) fn set_window(&mut self, value: u16) {
        self.set(self.tcp() + 14, value.to_be_bytes());
    }

    /// Returns timestamp value and echo, if the segment has the timestamp option and no other.
    pub(super) fn timestamps(&self) -> Option<(u32, u32)> {
        let options = self.tcp() + TCP_HEADER;
        let usual = self.len() == options + 12 && self.get(options) == TIMESTAMPS_ONLY;
        usual.then(|| {
            let field = |place| u32::from_be_bytes(self.get(place));
            (field(options + 4), field(options + 8))
        })
    }

    pub(super) fn set_timestamps(&mut self, value: u32, echo: u32) {
        let options = self.tcp() + TCP_HEADER;
        self.set(options + 4, value.to_be_bytes());
        self.set(options + 8, echo.to_be_bytes());
    }

    /// Returns the IPv4 identification; zero for IPv6, which has none.
    pub(super) fn identification(&self) -> u16 {
        if self.is_ipv4() {
            u16::from_be_bytes(self.get(4))
        } else {
            0
        }
    }

    /// Returns the identification after `packets` more packets; zero for IPv6, which has none.
    fn identification_after(&self, packets: u16) -> u16 {
        if self.is_ipv4() {
            self.identification().wrapping_add(packets)
        } else {
            0
        }
    }

    pub(super) fn set_identification(&mut self, value: u16) {
        if self.is_ipv4() {
            self.set(4, value.to_be_bytes());
        }
    }

    /// Returns true if only the fields above, lengths and checksums differ from `other`.
    pub(super) fn differs_only_as_deltas_can_say(&self, other: &Self) -> bool {
        self.length == other.length && self.tcp == other.tcp && {
            let (own, others) = (self.blanked(), other.blanked());
            own.bytes[..self.len()] == others.bytes[..self.len()]
        }
    }

    fn blanked(&self) -> Self {
        let mut blank = *self;
        blank.set_sequence(0);
        blank.set_acknowledgement(0);
        blank.set_flags(0);
        blank.set_window(0);
        blank.set(blank.tcp() + 16, [0; 2]);
        if blank.timestamps().is_some() {
            blank.set_timestamps(0, 0);
        }
        blank.set_identification(0);
        blank.set_lengths(0);
        blank
    }

    /// Writes the IP length for `payload` bytes, and the IPv4 header's checksum.
    ///
    /// A super-packet longer than the field keeps the value modulo 2¹⁶.
    pub(super) fn set_lengths(&mut self, payload: usize) {
        if self.is_ipv4() {
            self.set(2, ((self.len() + payload) as u16).to_be_bytes());
            self.set(10, [0; 2]);
            let checksum = Sum::of(&self.bytes[..IPV4_HEADER]).checksum();
            self.set(10, checksum.to_be_bytes());
        } else {
            self.set(
                4,
                ((self.len() + payload - IPV6_HEADER) as u16).to_be_bytes(),
            );
        }
    }

    /// Writes the sum of the pseudo-header into the TCP checksum, for [`crate::packet::Checksum::Partial`].
    pub(super) fn set_partial_checksum(&mut self, payload: usize) {
        let addresses = if self.is_ipv4() {
            12..IPV4_HEADER
        } else {
            8..IPV6_HEADER
        };
        let length = self.len() - self.tcp() + payload;
        let sum = pseudo_header(&self.bytes[addresses], Protocol::TCP, length);
        self.set(self.tcp() + 16, sum.folded().to_be_bytes());
    }
}

/// Base of the next delta.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) headers: Headers,
    pub(super) next_sequence: u32,
    pub(super) next_identification: u16,
    pub(super) segment_size: u16,
}

impl Context {
    /// Returns the context after a packet with these headers and `payload` bytes.
    pub(super) fn after(headers: Headers, payload: usize, segment_size: u16) -> Self {
        let controls = TcpFlags(headers.flags()).sequence_length();
        let segments = if segment_size == 0 {
            1
        } else {
            payload.div_ceil(usize::from(segment_size)).max(1)
        };
        Self {
            headers,
            next_sequence: headers
                .sequence()
                .wrapping_add(payload as u32)
                .wrapping_add(controls),
            next_identification: headers.identification_after(segments as u16),
            segment_size,
        }
    }

    /// Returns the context after `packet`, if deltas can follow it.
    pub(super) fn of(packet: &Packet) -> Option<Self> {
        let headers = Headers::of(packet)?;
        let payload = packet.len() - headers.len();
        Some(Self::after(headers, payload, packet.segment_size))
    }
}
