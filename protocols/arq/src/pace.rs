//! The state from which the times of transmissions follow.

use units::{BitRate, Duration, Instant};

use crate::stall::StallGuard;
use crate::stats::Fade;

/// Least and most time between retransmissions in a silence, unless silences lose what is in flight.
const COPIES_LEAST: Duration = Duration::from_millis(20);
const COPIES_MOST: Duration = Duration::from_millis(500);

/// Effect of silences on frames sent before them, judged by the last silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SilenceEffect {
    /// No silence yet.
    #[default]
    Unknown,
    /// Nothing was lost: frames waited in the hop until it went on, and copies would queue behind them.
    Hold,
    /// Something was lost, and the first copy after the silence is useful.
    Lose,
}

impl SilenceEffect {
    /// Returns the time between retransmissions in a silence that has lasted for `lasted`; `None` if copies cost
    /// nothing.
    pub(crate) fn spacing(self, lasted: Duration) -> Option<Duration> {
        match self {
            Self::Unknown => Some(Self::least_spacing(lasted)),
            Self::Hold => Some(Self::least_spacing(lasted * 4)),
            Self::Lose => None,
        }
    }

    /// Returns the least time between two copies of one content, whatever the effect of the silence.
    pub(crate) fn least_spacing(lasted: Duration) -> Duration {
        (lasted / 16).clamp(COPIES_LEAST, COPIES_MOST)
    }
}

/// State from which the times of transmissions follow.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    pub(crate) rate: Option<BitRate>,
    pub(crate) last_heard: Instant,
    /// Beginning of the current silence, once something was presumed lost in it.
    pub(crate) silent_since: Option<Instant>,
    /// End of the last silence. A round trip that began before it measures that silence, not the hop.
    pub(crate) silent_until: Instant,
    /// True if frames of the other end are missing since the last acknowledgement: they may have carried others.
    pub(crate) has_missed: bool,
    /// Delays of the judgement of silences, and of retransmissions without an acknowledgement, after a stall.
    pub(crate) silence: StallGuard,
    pub(crate) repeats: StallGuard,
    /// Time until which fades are expected.
    pub(crate) fading_until: Option<Instant>,
    /// Effect of the last silence on frames sent before it.
    pub(crate) silences: SilenceEffect,
    /// The current fade.
    pub(crate) fade: Option<Fade>,
    pub(crate) due: Timers,
    /// True if nothing can be sent at all.
    pub(crate) unlinked: bool,
}

/// Times of events.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// Time from which a queue may be too long.
    pub(crate) limits: Instant,
    /// Time when frames may be presumed lost again in this silence.
    pub(crate) doubt: Instant,
    /// Time when the next probe of a long fade may leave.
    pub(crate) probe: Instant,
    pub(crate) tidy: Option<Instant>,
    /// Time when whole segments of a packet that is still incomplete can be released.
    pub(crate) release: Option<Instant>,
}
