//! Segments of simulated hosts, which are exchanged as values.

use std::net::{SocketAddr, SocketAddrV4};

use wire::TcpSegment;

use crate::{Header, Revision, Segment};

impl Segment for TcpSegment {
    fn header(&self) -> Option<Header> {
        Some(Header {
            source: self.source.into(),
            destination: self.destination.into(),
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            payload: self.payload.into(),
            options: self.options,
        })
    }

    /// Returns the length of its packet, in bytes.
    fn cost(&self) -> u64 {
        self.packet_length() as u64
    }

    fn revise(&mut self, revision: &Revision) {
        self.options = revision.applied_to_options(&self.options);
    }

    fn acknowledgment(header: &Header) -> Self {
        Self {
            source: version_4(header.source),
            destination: version_4(header.destination),
            sequence: header.sequence,
            acknowledgment: header.acknowledgment,
            flags: header.flags,
            window: header.window,
            payload: 0,
            options: header.options,
        }
    }
}

/// Returns the IPv4 address: a header that comes from a [`TcpSegment`] has no other.
fn version_4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(address) => {
            let mapped = address.ip().to_ipv4_mapped();
            SocketAddrV4::new(mapped.unwrap_or([0; 4].into()), address.port())
        }
    }
}
