//! What the receiver of a direction said last, and what its sender may send.

use units::SeqNumber;
use wire::tcp::SeqRange;

use crate::Header;

/// The largest shift that RFC 7323 allows: assumed where the handshake was not seen.
const LARGEST_SCALE: u8 = 14;
/// Sequence numbers further apart than this are no neighbours in a connection (RFC 7323 §2.3).
const FARTHEST: i32 = 1 << 30;

/// The receiver's last acknowledgement and its window.
#[derive(Debug)]
pub(crate) struct Window {
    last: Option<Header>,
    scale: Option<u8>,
    right_edge: Option<SeqNumber>,
}

impl Window {
    /// Nothing is known.
    pub(crate) const NEW: Self = Self {
        last: None,
        scale: None,
        right_edge: None,
    };

    /// The receiver's SYN. Windows are scaled only if both SYNs ask for it; assuming it where
    /// one does not errs on the side of taking more.
    pub(crate) fn synchronize(&mut self, header: &Header) {
        self.scale = Some(header.options.window_scale.unwrap_or(0).min(LARGEST_SCALE));
    }

    /// The last acknowledgement, as it came.
    pub(crate) fn last(&self) -> Option<&Header> {
        self.last.as_ref()
    }

    /// Everything before this has arrived.
    pub(crate) fn acknowledged(&self) -> Option<SeqNumber> {
        self.last.as_ref().map(|last| last.acknowledgment)
    }

    /// The receiver acknowledged, no less than before.
    pub(crate) fn note(&mut self, header: &Header) {
        let scale = self.scale.unwrap_or(LARGEST_SCALE);
        let edge = header.acknowledgment + (u32::from(header.window) << scale);
        if self.right_edge.is_none_or(|right| right < edge) {
            self.right_edge = Some(edge);
        }
        self.last = Some(*header);
    }

    /// Whether the receiver may be sent `range`: not far below what it acknowledged, and no more than a
    /// byte (a window probe) beyond what it ever offered. Anything is taken before it spoke.
    pub(crate) fn takes(&self, range: SeqRange) -> bool {
        let (Some(last), Some(right)) = (&self.last, self.right_edge) else {
            return true;
        };
        let below = range.start.distance_from(last.acknowledgment);
        let beyond = range.end.distance_from(right);
        below > -FARTHEST && beyond <= 1
    }

    /// Whether `number` can be an acknowledgement of this connection.
    pub(crate) fn is_near(&self, number: SeqNumber) -> bool {
        let distance = self
            .acknowledged()
            .map_or(0, |last| number.distance_from(last));
        distance.unsigned_abs() < FARTHEST.unsigned_abs()
    }
}
