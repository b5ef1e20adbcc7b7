//! Lowering the segment size that two ends agree on.

use super::{CHECKSUM, HEADER_LENGTH, TcpFlags, TcpOption, TcpView};
use crate::checksum::replace_word;
use crate::field::write_u16;
use crate::ip::{IpPacket, Transport};
use crate::malformed::Malformed;
use crate::packet::Checksum;

/// Lowers the maximum segment size that a SYN announces to `limit` bytes, and says whether it did.
///
/// Other packets, and a SYN that announces nothing or no more than `limit`, stay as they are. The
/// TCP checksum is updated in place, so a wrong one stays wrong; a partial one does not cover the
/// option yet and is left alone.
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

/// Where a SYN announces more than `limit`, in bytes from the TCP header's first.
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
