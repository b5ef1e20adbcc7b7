//! The last TCP segment of a flow, as far as it tells how the connection stands.

use units::SeqNumber;

use crate::checksum;
use crate::field::{read_u32, write_u16, write_u32};
use crate::ip::{Layout, Transport};
use crate::packet::{HEADROOM, Packet, PacketBuffer};
use crate::tcp::{self, OptionBytes, TcpFlags, TcpSegmentOptions, TcpView, place_of_clock};

/// Longest headers that are kept: those of IPv4 and TCP with all options.
const HEADERS_MAX: usize = 120;

/// Headers of a TCP segment, and the sequence number after it.
#[derive(Debug, Clone, Copy)]
pub struct LastSegment {
    headers: [u8; HEADERS_MAX],
    length: usize,
    /// Place of the TCP header.
    transport: usize,
    layout: Layout,
    next: SeqNumber,
}

impl LastSegment {
    /// Returns the segment in `packet`; `None` if it is not one of an open connection.
    pub fn of(packet: &Packet) -> Option<Self> {
        let ip = packet.ip().filter(|ip| ip.fragment().is_none())?;
        let Transport::Tcp(tcp) = ip.transport() else {
            return None;
        };
        let flags = tcp.flags();
        // The answer to a request may stay the only segment of who only receives.
        if !flags.contains(TcpFlags::ACK) || flags.contains(TcpFlags::RST) {
            return None;
        }
        let transport = ip.header_length();
        let length = transport + tcp.header_length();
        let mut headers = [0; HEADERS_MAX];
        headers
            .get_mut(..length)?
            .copy_from_slice(&ip.bytes()[..length]);
        Some(Self {
            headers,
            length,
            transport,
            layout: ip.layout(),
            next: tcp.sequence().end,
        })
    }

    /// Returns the segment as the last one after `earlier`, which may stand behind it in the sequence.
    #[must_use]
    pub fn after(self, earlier: &Self) -> Self {
        let next = if self.next < earlier.next {
            earlier.next
        } else {
            self.next
        };
        Self { next, ..self }
    }

    /// Returns the number before which everything is acknowledged.
    pub fn acknowledged(&self) -> SeqNumber {
        SeqNumber(read_u32(
            &self.headers,
            self.transport + tcp::ACKNOWLEDGMENT_NUMBER,
        ))
    }

    /// Returns the number after all that its end has sent.
    pub fn next(&self) -> SeqNumber {
        self.next
    }

    /// Returns its sender's clock, if it has timestamps (RFC 7323).
    pub fn clock(&self) -> Option<u32> {
        let header = TcpView::parse(&self.headers[self.transport..self.length]).ok()?;
        place_of_clock(&header).map(|(clock, _)| clock)
    }

    /// Returns an acknowledgement that repeats what the segment acknowledged, with the sequence number after it. It
    /// has no report of single segments: one that arrived twice (RFC 2883) would be counted twice.
    pub fn acknowledgment(&self) -> Packet {
        self.with_window(None)
    }

    /// Returns the same acknowledgement with a window of zero.
    pub fn closed(&self) -> Packet {
        self.with_window(Some(0))
    }

    fn with_window(&self, window: Option<u16>) -> Packet {
        let mut buffer = PacketBuffer::with_room(HEADROOM + self.length, HEADROOM);
        buffer.extend(&self.headers[..self.length]);
        let layout = self.layout.with_length(self.length);
        layout.write_length(&mut buffer, 1);
        let header = &mut buffer[self.transport..];
        write_u32(header, tcp::SEQUENCE_NUMBER, self.next.0);
        header[tcp::FLAGS] = TcpFlags::ACK.0;
        if let Some(window) = window {
            write_u16(header, tcp::WINDOW, window);
        }
        checksum::fill(&mut buffer, layout);
        let mut packet = Packet::checked(buffer, layout);
        let options = packet.ip().and_then(|ip| match ip.transport() {
            Transport::Tcp(tcp) => Some(OptionBytes::revised(&tcp, &TcpSegmentOptions::default())),
            _ => None,
        });
        if let Some(options) = options {
            packet.set_tcp_options(&options);
        }
        packet
    }
}
