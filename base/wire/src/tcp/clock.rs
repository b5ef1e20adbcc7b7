//! The clock of a segment's sender.

use super::{HEADER_LENGTH, TcpOption, TcpView};

/// Length of the two clocks of an option with timestamps, in bytes.
const CLOCKS: usize = 8;

/// Returns the value of the sender's clock in the timestamps of a segment, and where it is, in bytes from the TCP
/// header's first; `None` if there is none before a malformed option.
pub(crate) fn place_of_clock(tcp: &TcpView<'_>) -> Option<(u32, usize)> {
    let mut options = tcp.options();
    while let Some(Ok(option)) = options.next() {
        if let TcpOption::Timestamps { value, .. } = option {
            return Some((value, HEADER_LENGTH + options.position() - CLOCKS));
        }
    }
    None
}
