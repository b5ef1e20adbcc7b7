//! Segments as values, as simulated hosts exchange them.

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

    /// What its packet would take.
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

/// The address itself: a header that comes from a [`TcpSegment`] has no other.
fn version_4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(address) => {
            let mapped = address.ip().to_ipv4_mapped();
            SocketAddrV4::new(mapped.unwrap_or([0; 4].into()), address.port())
        }
    }
}
