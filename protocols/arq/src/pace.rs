//! What the past decides of when to send.

use units::{BitRate, Instant};

use crate::stall::Grace;

/// What the times of the past decide.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    pub(crate) rate: Option<BitRate>,
    pub(crate) last_heard: Instant,
    /// When the last silence ended: what left before it says how long that was, and not how long the hop takes.
    pub(crate) silent_until: Instant,
    /// Frames of the other end are missing since the last that acknowledged something: they may have done so too.
    pub(crate) has_missed: bool,
    /// Whether silence may be judged, and whether what nobody confirmed may be sent again.
    pub(crate) silence: Grace,
    pub(crate) repeats: Grace,
    /// Fades are to be expected until then.
    pub(crate) fading_until: Option<Instant>,
    /// The last silence has lost nothing: what left before it waited in the hop until that went on.
    pub(crate) holds: bool,
    /// On such a hop, when something may be presumed lost again.
    pub(crate) next_doubt: Instant,
    /// When the next probe of a long fade may leave.
    pub(crate) next_probe: Instant,
    /// Nothing can be sent at all.
    pub(crate) unlinked: bool,
    pub(crate) next_tidy: Option<Instant>,
    /// Whole segments of a packet that is still incomplete can be released.
    pub(crate) next_release: Option<Instant>,
}
