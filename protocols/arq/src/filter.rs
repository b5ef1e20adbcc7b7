//! The TCP acknowledgements that a later one of the same connection makes useless (RFC 3449 §5.2.1).

use wire::ip::Transport;
use wire::packet::{Checksum, Packet};
use wire::tcp::{AirLoss, TcpFlags, TcpSegmentOptions, TcpView};

/// Length of the longest packet without data, in bytes: headers of IPv6 and TCP, with all options.
const LENGTH_MAX: usize = 100;

/// Returns true if `later` makes `earlier`, which waits before it in one flow, useless: both carry only an
/// acknowledgement, and the later one acknowledges more. Duplicates, selective acknowledgements, window updates and
/// echoes of congestion are never useless.
pub(crate) fn supersedes(later: &Packet, earlier: &Packet) -> bool {
    let alike = later.len() == earlier.len() && later.len() <= LENGTH_MAX;
    if !alike || later.checksum == Checksum::Unverified {
        return false;
    }
    let (Some(later), Some(earlier)) = (later.ip(), earlier.ip()) else {
        return false;
    };
    if (later.dscp(), later.ecn()) != (earlier.dscp(), earlier.ecn()) {
        return false;
    }
    match (later.transport(), earlier.transport()) {
        (Transport::Tcp(later), Transport::Tcp(earlier)) => {
            later.sequence_number() == earlier.sequence_number()
                && later.acknowledgment_number() > earlier.acknowledgment_number()
                && is_plain(&later)
                && is_plain(&earlier)
        }
        _ => false,
    }
}

/// Returns true if a segment carries nothing but its acknowledgement number and its window.
fn is_plain(tcp: &TcpView<'_>) -> bool {
    let reserved = tcp.bytes()[12] & 0x0f;
    let Ok((options, others)) = TcpSegmentOptions::read(tcp) else {
        return false;
    };
    tcp.flags() == TcpFlags::ACK
        && reserved == 0
        && tcp.payload().is_empty()
        && !others
        && options.sack.is_empty()
        && options.cause.is_none()
        && options.air_loss == AirLoss::None
}
