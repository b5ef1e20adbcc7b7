//! The last acknowledgement of the receiver of a direction, and the window of its sender.

use units::SeqNumber;
use wire::tcp::SeqRange;

use crate::{Header, Revision, Segment};

/// Largest shift that RFC 7323 allows: assumed if the handshake was not seen.
const LARGEST_SCALE: u8 = 14;
/// Largest distance of sequence numbers within a connection (RFC 7323 §2.3).
const FARTHEST: i32 = 1 << 30;

/// The receiver's last acknowledgement and its window.
#[derive(Debug)]
pub(crate) struct Window {
    last: Option<Header>,
    scale: Option<u8>,
    right_edge: Option<SeqNumber>,
}

impl Window {
    /// The initial state, without an acknowledgement.
    pub(crate) const NEW: Self = Self {
        last: None,
        scale: None,
        right_edge: None,
    };

    /// Notes the receiver's SYN. Windows are scaled only if both SYNs have the option; if only one has it, the
    /// assumed window is too large, which is the safe side.
    pub(crate) fn synchronize(&mut self, header: &Header) {
        self.scale = Some(header.options.window_scale.unwrap_or(0).min(LARGEST_SCALE));
    }

    /// Returns the last acknowledgement as it came, if there was one.
    pub(crate) fn last(&self) -> Option<&Header> {
        self.last.as_ref()
    }

    /// Returns the acknowledgement number: everything before it has arrived.
    pub(crate) fn acknowledged(&self) -> Option<SeqNumber> {
        self.last.as_ref().map(|last| last.acknowledgment)
    }

    /// Notes an acknowledgement of the receiver, no lower than before.
    pub(crate) fn note(&mut self, header: &Header) {
        let scale = self.scale.unwrap_or(LARGEST_SCALE);
        let edge = header.acknowledgment + (u32::from(header.window) << scale);
        if self.right_edge.is_none_or(|right| right < edge) {
            self.right_edge = Some(edge);
        }
        self.last = Some(*header);
    }

    /// Returns true if `range` may be sent to the receiver: not far below the acknowledgement number, and at most a
    /// byte (a window probe) beyond any window it has offered. Any range is accepted before the first
    /// acknowledgement.
    pub(crate) fn takes(&self, range: SeqRange) -> bool {
        let (Some(last), Some(right)) = (&self.last, self.right_edge) else {
            return true;
        };
        let below = range.start.distance_from(last.acknowledgment);
        let beyond = range.end.distance_from(right);
        below > -FARTHEST && beyond <= 1
    }

    /// Returns a cached packet as the receiver takes it now. The receiver drops segments with a timestamp older than
    /// the last that it has echoed (PAWS, RFC 7323 §5), and a repeat by the sender, of data before these, has a newer
    /// one.
    pub(crate) fn acceptable<P: Segment>(&self, packet: P) -> P {
        let timestamps = self.last.as_ref().and_then(|last| last.options.timestamps);
        let revision = Revision {
            not_before: timestamps.map(|timestamps| timestamps.echo),
            ..Revision::default()
        };
        revision.applied_to(packet)
    }

    /// Returns true if `number` can be an acknowledgement of this connection.
    pub(crate) fn is_near(&self, number: SeqNumber) -> bool {
        let distance = self
            .acknowledged()
            .map_or(0, |last| number.distance_from(last));
        distance.unsigned_abs() < FARTHEST.unsigned_abs()
    }
}
