//! How a connection is refused that could not be made.

use std::io;

use mtcp::Reason;
use rustix::io::Errno;
use wire::icmp::{Unreachable, unreachable};
use wire::ip::IpPacket;
use wire::packet::{Checksum, Packet};
use wire::tcp::connection_refused;

/// The packet that gives who sent `request` the error that we got; nothing where silence tells it best: it asks again,
/// and gives up as it would have without us.
pub(super) fn refusal(request: &Packet, error: &io::Error) -> Option<Packet> {
    let original = IpPacket::parse(&request.buffer).ok()?;
    let buffer = match Errno::from_io_error(error)? {
        Errno::CONNREFUSED | Errno::CONNRESET => connection_refused(&original),
        Errno::NETUNREACH => unreachable(&original, Unreachable::Network),
        Errno::HOSTUNREACH => unreachable(&original, Unreachable::Host),
        Errno::ACCESS | Errno::PERM => unreachable(&original, Unreachable::Prohibited),
        _ => None,
    }?;
    Some(Packet {
        checksum: Checksum::Verified,
        ..Packet::new(buffer)
    })
}

/// The same for who asked across the hop, whose thread there refuses it with the packet that fits.
pub(super) fn reason(error: &io::Error) -> Reason {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED | Errno::CONNRESET) => Reason::Refused,
        // Nobody takes streams for that address here.
        Some(Errno::OPNOTSUPP) => Reason::NotListening,
        Some(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::ACCESS | Errno::PERM) => {
            Reason::Unreachable
        }
        _ => Reason::TimedOut,
    }
}
