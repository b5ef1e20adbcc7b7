//! The segment size that two ends agree on.

use super::{HEADER_LENGTH, TcpFlags, TcpOption, TcpView};
use crate::malformed::Malformed;

/// Returns where a SYN announces more than `limit` bytes, in bytes from the TCP header's first.
pub(crate) fn place_of_larger_size(
    tcp: &TcpView<'_>,
    limit: u16,
) -> Result<Option<usize>, Malformed> {
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
