//! Present-day congestion control: how much may be on its way, and how fast it goes out.
//!
//! CUBIC and BBR see one [`Sample`] for each acknowledgement. What was lost is found by
//! `sender/modern.rs`, which asks them for the window and the pace.

mod bbr;
mod cubic;
mod filter;
mod hystart;
mod policed;
mod proportional;

use units::{Duration, Instant, SeqNumber};

use crate::config::{Congestion, Control};
use bbr::Bbr;
use cubic::Cubic;

/// Whether something is being repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// Nothing is.
    #[default]
    Open,
    /// A loss was seen; the recovery ends with the acknowledgement of this position.
    Recovery(u64),
    /// The retransmission timer went off; the same.
    Timeout(u64),
}

impl Phase {
    /// Where the repairs end.
    pub(crate) fn point(self) -> Option<u64> {
        match self {
            Self::Open => None,
            Self::Recovery(point) | Self::Timeout(point) => Some(point),
        }
    }
}

/// How fast something was delivered (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Bytes that had arrived when the newest of what arrived now was sent.
    pub(crate) before: u64,
    /// What has arrived since, in bytes, and in what time; nothing where the time is too short to be true.
    pub(crate) since: Option<(u64, Duration)>,
    /// The sender had too little to send for a time.
    pub(crate) app_limited: bool,
}

/// What one acknowledgement brought.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) now: Instant,
    /// Bytes newly known to have arrived.
    pub(crate) arrived: u64,
    /// Bytes newly taken for lost.
    pub(crate) lost: u64,
    /// Bytes on their way before this acknowledgement.
    pub(crate) in_flight_before: u64,
    /// Bytes on their way now.
    pub(crate) in_flight: u64,
    /// All bytes that have arrived so far.
    pub(crate) total: u64,
    /// The round trip of the newest segment among them that was sent once.
    pub(crate) round_trip: Option<Duration>,
    /// Nothing where nothing new has arrived.
    pub(crate) delivery: Option<Delivery>,
    /// The window held something back in the last round trip.
    pub(crate) window_limited: bool,
    /// What is being repaired, after this acknowledgement.
    pub(crate) phase: Phase,
}

/// The congestion control of one connection. Windows are in bytes.
#[derive(Debug, Clone)]
pub(crate) enum Controller {
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
}

impl Controller {
    /// Nothing for 4.4BSD's, which has its own recovery. `first` makes runs differ where a choice is left to chance.
    pub(crate) fn new(settings: &Congestion, first: SeqNumber) -> Option<Self> {
        match settings.control {
            Control::Reno => None,
            Control::Cubic => Some(Self::Cubic(Box::new(Cubic::new(settings)))),
            Control::Bbr => Some(Self::Bbr(Box::new(Bbr::new(settings, first)))),
        }
    }

    /// The segment size is agreed on.
    pub(crate) fn agreed(&mut self, segment: u64) {
        match self {
            Self::Cubic(control) => control.agreed(segment),
            Self::Bbr(control) => control.agreed(segment),
        }
    }

    /// What may be on its way.
    pub(crate) fn window(&self) -> u64 {
        match self {
            Self::Cubic(control) => control.window(),
            Self::Bbr(control) => control.window(),
        }
    }

    /// Where slow start ends.
    pub(crate) fn threshold(&self) -> u64 {
        match self {
            Self::Cubic(control) => control.threshold(),
            Self::Bbr(_) => u64::MAX,
        }
    }

    /// How long a segment of `size` bytes keeps the next one waiting.
    pub(crate) fn spacing(&self, size: u64) -> Duration {
        match self {
            Self::Cubic(_) => Duration::ZERO,
            Self::Bbr(control) => control.spacing(size),
        }
    }

    /// Segments have gone out, `size` bytes; `in_flight` were on their way before.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u64, (in_flight, limited): (u64, bool)) {
        match self {
            Self::Cubic(control) => control.on_sent(now, size, in_flight),
            Self::Bbr(control) => control.on_sent(now, in_flight, limited),
        }
    }

    /// A loss was seen, and a recovery begins.
    pub(crate) fn on_congestion(&mut self, in_flight: u64) {
        match self {
            Self::Cubic(control) => control.on_congestion(in_flight),
            Self::Bbr(control) => control.save_window(),
        }
    }

    /// The retransmission timer went off. `first` of a row, or with progress since the last one.
    pub(crate) fn on_timeout(&mut self, first: bool) {
        match self {
            Self::Cubic(control) => control.on_timeout(first),
            Self::Bbr(control) => control.on_timeout(first),
        }
    }

    /// All that was sent before the loss is acknowledged.
    pub(crate) fn on_recovered(&mut self) {
        match self {
            Self::Cubic(control) => control.on_recovered(),
            Self::Bbr(_) => {}
        }
    }

    /// There was no loss: what was sent again had only been late.
    pub(crate) fn on_false_alarm(&mut self) {
        match self {
            Self::Cubic(control) => control.on_false_alarm(),
            Self::Bbr(control) => control.on_false_alarm(),
        }
    }

    /// Something goes out after a pause of so many retransmission timeouts.
    pub(crate) fn on_pause(&mut self, timeouts: u64) {
        match self {
            Self::Cubic(control) => control.on_pause(timeouts),
            Self::Bbr(_) => {}
        }
    }

    /// An acknowledgement came.
    pub(crate) fn on_acknowledgment(&mut self, sample: &Sample) {
        match self {
            Self::Cubic(control) => control.on_acknowledgment(sample),
            Self::Bbr(control) => control.on_acknowledgment(sample),
        }
    }

    /// Whether this moment's lack of data must mark the samples to come, whatever the application does.
    pub(crate) fn starves_itself(&self) -> bool {
        match self {
            Self::Cubic(_) => false,
            Self::Bbr(control) => control.probes_round_trip(),
        }
    }
}
