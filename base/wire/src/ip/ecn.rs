//! ECN marks in IP headers of both versions (RFC 3168).

use super::{Ecn, Ipv4Mut, Ipv6Mut};

impl Ecn {
    /// Returns the two bits of this field in the traffic class.
    pub fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0,
            Self::Capable1 => 1,
            Self::Capable0 => 2,
            Self::CongestionExperienced => 3,
        }
    }

    /// Returns the field of the IP packet that `bytes` begin with; `None` if they do not begin with an IP header. It
    /// checks nothing else of the packet.
    pub fn of_packet(bytes: &[u8]) -> Option<Self> {
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        match first >> 4 {
            4 => Some(Self::of_traffic_class(second)),
            6 => Some(Self::of_traffic_class(second >> 4)),
            _ => None,
        }
    }
}

/// Marks the IP packet that `bytes` begin with as one that met congestion, if its transport understands marks; the
/// checksum of an IPv4 header stays right if it was right before. Returns the field that the packet had,
/// [`Ecn::NotCapable`] for a packet left unchanged, or `None` if `bytes` do not begin with a whole IP header.
pub fn mark_congestion(bytes: &mut [u8]) -> Option<Ecn> {
    let before = Ecn::of_packet(bytes)?;
    if bytes[0] >> 4 == 4 {
        let mut header = Ipv4Mut::parse(bytes).ok()?;
        if before != Ecn::NotCapable {
            header.set_congestion_experienced();
        }
    } else {
        let mut header = Ipv6Mut::parse(bytes).ok()?;
        if before != Ecn::NotCapable {
            header.set_congestion_experienced();
        }
    }
    Some(before)
}
