//! Clamping of the maximum segment size in a SYN.

use super::{CHECKSUM, HEADER_LENGTH, TcpFlags, TcpOption, TcpView};
use crate::checksum::replace_word;
use crate::field::write_u16;
use crate::ip::{IpPacket, Transport};
use crate::malformed::Malformed;
use crate::packet::Checksum;

/// Lowers the maximum segment size that a SYN advertises to `limit` bytes, and returns true if it did.
///
/// Leaves other packets unchanged, and a SYN that advertises no size or at most `limit`. It updates the TCP checksum in
/// place, so a wrong one stays wrong; a partial one does not cover the option yet and stays unchanged.
pub fn clamp_maximum_segment_size(
    packet: &mut [u8],
    limit: u16,
    checksum: Checksum,
) -> Result<bool, Malformed> {
    let parsed = IpPacket::parse(packet)?;
    let Transport::Tcp(tcp) = parsed.transport() else {
        return Ok(false);
    };
    let Some(at) = place_of_larger(&tcp, limit)? else {
        return Ok(false);
    };
    let start = parsed.header_length();
    let transport = &mut packet[start..];
    match checksum {
        Checksum::Partial => write_u16(transport, at, limit),
        Checksum::Unverified | Checksum::Verified => replace_word(transport, CHECKSUM, at, limit),
    }
    Ok(true)
}

/// Returns the position of a maximum segment size above `limit` in a SYN, in bytes from the TCP header's first byte.
fn place_of_larger(tcp: &TcpView<'_>, limit: u16) -> Result<Option<usize>, Malformed> {
    if !tcp.flags().contains(TcpFlags::SYN) {
        return Ok(None);
    }
    let mut options = tcp.options();
    while let Some(option) = options.next() {
        if let TcpOption::MaximumSegmentSize(size) = option? {
            return Ok((size > limit).then(|| HEADER_LENGTH + options.position() - 2));
        }
    }
    Ok(None)
}
