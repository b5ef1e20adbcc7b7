//! Packets inside this host: bytes whose headers are checked once, and the permitted changes to them.

mod buffer;
mod copied;
mod marker;

use std::ops::Deref;

pub use buffer::{HEADROOM, PacketBuffer};
use units::SeqNumber;

use crate::checksum::{
    self, PartialChecksum, complete_partial_checksum, replace_word, verify_transport_checksum,
};
use crate::field::{write_u16, write_u32};
use crate::flow::FlowKey;
use crate::ip::{Ecn, IpPacket, Layout, Transport};
use crate::malformed::Malformed;
use crate::tcp::{self, OptionBytes, place_of_clock, place_of_larger_size};
use crate::udp;

/// State of a packet's transport checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksum {
    /// The field is complete, but has not been verified on this host.
    #[default]
    Unverified,
    /// The field is complete and right.
    Verified,
    /// The packet is good, but the field holds only the sum of the pseudo-header: the host that sends the packet on to
    /// another host completes it (`CHECKSUM_PARTIAL` in Linux).
    Partial,
}

/// A packet inside this host, whose headers were checked when it came in. Only its methods change it, so the results of
/// the check stay true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    buffer: PacketBuffer,
    /// `None` if it is not an IP packet.
    layout: Option<Layout>,
    /// Payload bytes of each segment that the packet stands for (the last may have fewer); zero if it stands only for
    /// itself.
    pub segment_size: u16,
    /// State of its transport checksum.
    pub checksum: Checksum,
}

impl Packet {
    /// Checks the headers in `buffer`. The packet stands for itself, and its checksum has not been verified.
    pub fn new(buffer: PacketBuffer) -> Self {
        let layout = IpPacket::parse(&buffer).ok().map(|ip| ip.layout());
        Self {
            layout,
            ..Self::opaque(buffer)
        }
    }

    /// Creates a packet of another protocol than IP.
    pub fn opaque(buffer: PacketBuffer) -> Self {
        Self {
            buffer,
            layout: None,
            segment_size: 0,
            checksum: Checksum::Unverified,
        }
    }

    /// Creates a packet that was checked when `layout` was found, and whose checksum is right.
    pub(crate) fn checked(buffer: PacketBuffer, layout: Layout) -> Self {
        Self {
            layout: Some(layout),
            checksum: Checksum::Verified,
            ..Self::opaque(buffer)
        }
    }

    /// Returns the packet with this checksum state.
    #[must_use]
    pub fn with_checksum(self, checksum: Checksum) -> Self {
        Self { checksum, ..self }
    }

    /// Returns the packet as its headers describe it; nothing if they are not those of a packet of IP.
    pub fn ip(&self) -> Option<IpPacket<'_>> {
        Some(IpPacket::new(&self.buffer, self.layout?))
    }

    /// Returns the flow that it belongs to; nothing if it is not a packet of IP.
    pub fn flow(&self) -> Option<FlowKey> {
        self.ip().map(|ip| FlowKey::of(&ip))
    }

    /// Returns the storage that it holds, in bytes: what it costs, whatever its content.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the packet in storage that fits it, if that saves at least half: for one that is to be kept.
    #[must_use]
    pub fn right_sized(self) -> Self {
        Self {
            buffer: self.buffer.right_sized(),
            ..self
        }
    }

    /// Marks the packet as one that met a long queue, if its transport supports marks (RFC 3168).
    /// Returns the field that it had, [`Ecn::NotCapable`] for one that is as it was; nothing if it is not of IP.
    pub fn mark_congestion(&mut self) -> Option<Ecn> {
        let before = self.ip()?.ecn();
        if let Some(layout) = self.layout.filter(|_| before != Ecn::NotCapable) {
            layout.mark_congestion(&mut self.buffer);
        }
        Some(before)
    }

    /// Lowers the maximum segment size that a SYN announces to `limit` bytes; returns true if it did.
    ///
    /// Other packets, and a SYN that announces nothing or no more than `limit`, stay as they are. The
    /// TCP checksum is updated in place, so a wrong one stays wrong; a partial one does not cover the
    /// option yet and is left alone.
    ///
    /// # Errors
    /// If an option before that one is malformed.
    pub fn clamp_maximum_segment_size(&mut self, limit: u16) -> Result<bool, Malformed> {
        let Some((ip, Transport::Tcp(tcp))) = self.ip().map(|ip| (ip, ip.transport())) else {
            return Ok(false);
        };
        let Some(at) = place_of_larger_size(&tcp, limit)? else {
            return Ok(false);
        };
        let start = ip.header_length();
        self.write_tcp_word(start, at, limit);
        Ok(true)
    }

    /// Raises the sender's clock in the timestamps of a TCP segment to `least` (RFC 7323), as times after which the
    /// segment may have left. Returns false if it is later than that, or if the packet is not one with timestamps.
    ///
    /// The TCP checksum stays right or wrong as it was, or partial.
    pub fn raise_timestamp(&mut self, least: u32) -> bool {
        let Some((ip, Transport::Tcp(tcp))) = self.ip().map(|ip| (ip, ip.transport())) else {
            return false;
        };
        let (start, place) = (ip.header_length(), place_of_clock(&tcp));
        // Clocks wrap as sequence numbers do.
        let is_later = |value: u32| SeqNumber(least).distance_from(SeqNumber(value)) < 0;
        let Some((value, at)) = place.filter(|(value, _)| !is_later(*value)) else {
            return false;
        };
        if value != least {
            self.write_tcp_word(start, at, (least >> 16) as u16);
            self.write_tcp_word(start, at + 2, least as u16);
        }
        true
    }

    /// Writes 16 bits at this place of a TCP header, which begins at `start`.
    fn write_tcp_word(&mut self, start: usize, at: usize, word: u16) {
        let transport = &mut self.buffer[start..];
        match self.checksum {
            Checksum::Partial => write_u16(transport, at, word),
            Checksum::Unverified | Checksum::Verified => {
                replace_word(transport, tcp::CHECKSUM, at, word);
            }
        }
    }

    /// Returns the number of segments with data that the packet stands for: 1 for a packet that stands only for itself,
    /// and 0 for a TCP segment without data and for a [marker](Self::marker).
    pub fn data_segments(&self) -> u64 {
        let Some(ip) = self.ip() else { return 1 };
        let headers = match ip.transport() {
            Transport::Tcp(tcp) => ip.header_length() + tcp.header_length(),
            _ if self.segment_size == 0 => return u64::from(!self.is_marker()),
            _ => ip.header_length() + udp::HEADER_LENGTH,
        };
        let data = ip.bytes().len().saturating_sub(headers);
        match usize::from(self.segment_size) {
            0 => u64::from(data > 0),
            size => data.div_ceil(size) as u64,
        }
    }

    /// Takes the first segment off a TCP packet that stands for several; returns false if the packet stands only for
    /// itself.
    pub fn drop_first_segment(&mut self) -> bool {
        let size = usize::from(self.segment_size);
        let Some((ip, Transport::Tcp(tcp))) = self.ip().map(|ip| (ip, ip.transport())) else {
            return false;
        };
        let (start, next) = (ip.header_length(), tcp.sequence_number() + size as u32);
        let headers = start + tcp.header_length();
        let length = ip.bytes().len();
        // A fragment's data is not all of what its headers describe.
        let is_fragment = ip.fragment().is_some();
        if size == 0 || is_fragment || length < headers + 2 * size {
            return false;
        }
        let layout = ip.layout().with_length(length - size);
        self.buffer.truncate(length);
        self.buffer.copy_within(..headers, size);
        self.buffer.advance(size);
        layout.write_length(&mut self.buffer, 1);
        write_u32(&mut self.buffer, start + tcp::SEQUENCE_NUMBER, next.0);
        self.layout = Some(layout);
        self.store_pseudo_header_checksum();
        if length - size <= headers + size {
            self.segment_size = 0;
        }
        true
    }

    /// Puts `options` in the place of those of a TCP segment. Its checksum is right afterwards, or partial as it was.
    /// One that would be too long stays as it is, as do packets of other protocols.
    pub fn set_tcp_options(&mut self, options: &OptionBytes) {
        let Some((ip, Transport::Tcp(tcp))) = self.ip().map(|ip| (ip, ip.transport())) else {
            return;
        };
        let transport = ip.header_length();
        let header = tcp::HEADER_LENGTH + options.bytes().len();
        let length = transport + header + tcp.payload().len();
        if length > usize::from(u16::MAX) {
            return;
        }
        let layout = ip.layout().with_length(length);
        let mut buffer = PacketBuffer::with_room(HEADROOM + length, HEADROOM);
        buffer.extend(&ip.bytes()[..transport + tcp::HEADER_LENGTH]);
        buffer.extend(options.bytes());
        buffer.extend(tcp.payload());
        layout.write_length(&mut buffer, 0);
        let offset = &mut buffer[transport + tcp::DATA_OFFSET];
        *offset = (header / 4 * 16) as u8 | *offset & 0x0f;
        self.buffer = buffer;
        self.layout = Some(layout);
        match self.checksum {
            Checksum::Partial => {
                self.store_pseudo_header_checksum();
            }
            Checksum::Unverified | Checksum::Verified => checksum::fill(&mut self.buffer, layout),
        }
    }

    /// Verifies the transport checksum if it was not verified before, and records the result if it is right.
    pub fn verify_checksum(&mut self) {
        if self.checksum == Checksum::Unverified
            && self.ip().is_some_and(|ip| verify_transport_checksum(&ip))
        {
            self.checksum = Checksum::Verified;
        }
    }

    /// Computes and stores the transport checksum; returns `None` if it is not an IP packet. Fragments, and protocols
    /// other than TCP, UDP and ICMP, stay unchanged.
    pub fn fill_checksum(&mut self) -> Option<()> {
        checksum::fill(&mut self.buffer, self.layout?);
        self.checksum = Checksum::Verified;
        Some(())
    }

    /// Makes the transport checksum partial, and returns the place for the rest of the sum; `None` if the packet has no
    /// checksum that we know.
    pub fn store_pseudo_header_checksum(&mut self) -> Option<PartialChecksum> {
        let place = checksum::store_pseudo_header(&mut self.buffer, self.layout?)?;
        self.checksum = Checksum::Partial;
        Some(place)
    }

    /// Completes the partial checksum at `place`, of any protocol.
    ///
    /// # Errors
    /// If `place` lies outside of the packet.
    pub fn complete_checksum(&mut self, place: PartialChecksum) -> Result<(), Malformed> {
        // The given place may lie in a header.
        self.rewrite(|bytes| complete_partial_checksum(bytes, place))?;
        self.checksum = Checksum::Verified;
        Ok(())
    }

    /// Changes bytes by `rewrite`, and checks the headers again. The state of the checksum stays the same.
    pub fn rewrite<R>(&mut self, rewrite: impl FnOnce(&mut [u8]) -> R) -> R {
        let result = rewrite(&mut self.buffer);
        self.layout = IpPacket::parse(&self.buffer).ok().map(|ip| ip.layout());
        result
    }
}

impl Deref for Packet {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}
