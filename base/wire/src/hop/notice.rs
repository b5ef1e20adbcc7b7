//! Notices by which a gateway says why it drops what a mobile host sends. They are sealed and take the place of a
//! frame; they have no transmission number and are never repaired.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First byte; the version of a frame, its high four bits, is never zero.
const NOTICE: u8 = 10;
/// Kinds.
const FOREIGN_SOURCE: u8 = 1;

/// A notice of a gateway, in place of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeMessage {
    /// It drops packets from this source, which is no inner address of the mobile host.
    ForeignSource(IpAddr),
    /// A notice of a kind that this version does not know.
    Unknown,
}

impl NoticeMessage {
    /// Returns the notice in `plaintext`; `None` if it is something else.
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        let [NOTICE, kind, rest @ ..] = plaintext else {
            return None;
        };
        let address = match *rest {
            [a, b, c, d] => Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d))),
            _ => <[u8; 16]>::try_from(rest)
                .map(Ipv6Addr::from)
                .map(IpAddr::V6)
                .ok(),
        };
        Some(match (*kind, address) {
            (FOREIGN_SOURCE, Some(address)) => Self::ForeignSource(address),
            _ => Self::Unknown,
        })
    }

    /// Returns the bytes of a notice that packets from this source are dropped.
    pub fn foreign_source(source: IpAddr) -> Vec<u8> {
        let mut bytes = vec![NOTICE, FOREIGN_SOURCE];
        match source {
            IpAddr::V4(source) => bytes.extend(source.octets()),
            IpAddr::V6(source) => bytes.extend(source.octets()),
        }
        bytes
    }
}
