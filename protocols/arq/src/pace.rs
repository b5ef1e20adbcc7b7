//! What the past decides of when to send.

use units::{BitRate, Duration, Instant};

use crate::stall::Grace;
use crate::stats::Fade;

/// How far apart copies leave in a silence, at least and at most, unless silences lose what is on its way.
const COPIES_LEAST: Duration = Duration::from_millis(20);
const COPIES_MOST: Duration = Duration::from_millis(500);

/// What silences do with what has left before them, judged by the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Silences {
    /// There has been none.
    #[default]
    Unknown,
    /// Nothing was lost: it waited in the hop until that went on, and copies would wait behind it.
    Hold,
    /// Something was lost, and the first copy after the silence is of use.
    Lose,
}

impl Silences {
    /// How far apart copies leave in a silence that has lasted for so long; nothing where they cost nothing.
    pub(crate) fn spacing(self, lasted: Duration) -> Option<Duration> {
        let part = match self {
            Self::Unknown => 16,
            Self::Hold => 4,
            Self::Lose => return None,
        };
        Some((lasted / part).clamp(COPIES_LEAST, COPIES_MOST))
    }
}

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
    /// What the last silence did with what had left before it.
    pub(crate) silences: Silences,
    /// The current fade.
    pub(crate) fade: Option<Fade>,
    pub(crate) due: Due,
    /// True if nothing can be sent at all.
    pub(crate) unlinked: bool,
}

/// Times at which something is due.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// When something may be presumed lost again in this silence.
    pub(crate) doubt: Instant,
    /// When the next probe of a long fade may leave.
    pub(crate) probe: Instant,
    pub(crate) tidy: Option<Instant>,
    /// When whole segments of a packet that is still incomplete can be released.
    pub(crate) release: Option<Instant>,
}
