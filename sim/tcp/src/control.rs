//! Present-day congestion control: the congestion window and the pacing rate.
//!
//! CUBIC and BBR process one [`Sample`] for each acknowledgement. `sender/modern.rs` detects losses and queries them
//! for the window and the pace.

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

/// Phase of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// A loss was detected; the recovery ends with the acknowledgement of this position.
    Recovery(u64),
    /// The retransmission timer fired; the recovery ends with the acknowledgement of this position.
    Timeout(u64),
}

impl Phase {
    /// Returns the position whose acknowledgement ends the recovery.
    pub(crate) fn point(self) -> Option<u64> {
        match self {
            Self::Open => None,
            Self::Recovery(point) | Self::Timeout(point) => Some(point),
        }
    }
}

/// Delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Bytes delivered when the newest of the segments delivered now was sent.
    pub(crate) before: u64,
    /// Bytes delivered since, and the time for them; `None` if the time is too short to be true.
    pub(crate) since: Option<(u64, Duration)>,
    /// True if the sender had too little data for some of the time.
    pub(crate) app_limited: bool,
}

/// Result of one acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) now: Instant,
    /// Bytes newly delivered.
    pub(crate) arrived: u64,
    /// Bytes newly declared lost.
    pub(crate) lost: u64,
    /// Bytes in flight before this acknowledgement.
    pub(crate) in_flight_before: u64,
    /// Bytes in flight now.
    pub(crate) in_flight: u64,
    /// Bytes delivered so far.
    pub(crate) total: u64,
    /// Round-trip time of the newest of the delivered segments that was sent only once.
    pub(crate) round_trip: Option<Duration>,
    /// Delivery rate sample; `None` if nothing new was delivered.
    pub(crate) delivery: Option<Delivery>,
    /// True if the window limited the sender in the last round trip.
    pub(crate) window_limited: bool,
    /// Phase of loss recovery after this acknowledgement.
    pub(crate) phase: Phase,
}

/// The congestion control of one connection. Windows are in bytes.
#[derive(Debug, Clone)]
pub(crate) enum Controller {
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
}

impl Controller {
    /// Returns the controller, or `None` for 4.4BSD's control, which has its own recovery. `first` seeds the random
    /// choices, so that connections differ.
    pub(crate) fn new(settings: &Congestion, first: SeqNumber) -> Option<Self> {
        match settings.control {
            Control::Reno => None,
            Control::Cubic => Some(Self::Cubic(Box::new(Cubic::new(settings)))),
            Control::Bbr => Some(Self::Bbr(Box::new(Bbr::new(settings, first)))),
        }
    }

    /// Sets the negotiated segment size.
    pub(crate) fn agreed(&mut self, segment: u64) {
        match self {
            Self::Cubic(control) => control.agreed(segment),
            Self::Bbr(control) => control.agreed(segment),
        }
    }

    /// Returns the congestion window: the limit of bytes in flight.
    pub(crate) fn window(&self) -> u64 {
        match self {
            Self::Cubic(control) => control.window(),
            Self::Bbr(control) => control.window(),
        }
    }

    /// Returns the slow start threshold.
    pub(crate) fn threshold(&self) -> u64 {
        match self {
            Self::Cubic(control) => control.threshold(),
            Self::Bbr(_) => u64::MAX,
        }
    }

    /// Returns the time from a segment of `size` bytes to the next one.
    pub(crate) fn spacing(&self, size: u64) -> Duration {
        match self {
            Self::Cubic(_) => Duration::ZERO,
            Self::Bbr(control) => control.spacing(size),
        }
    }

    /// Records that segments of `size` bytes were sent; `in_flight` bytes were in flight before.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u64, in_flight: u64, limited: bool) {
        match self {
            Self::Cubic(control) => control.on_sent(now, size, in_flight),
            Self::Bbr(control) => control.on_sent(now, in_flight, limited),
        }
    }

    /// Reacts to a detected loss, with which a recovery begins.
    pub(crate) fn on_congestion(&mut self, in_flight: u64) {
        match self {
            Self::Cubic(control) => control.on_congestion(in_flight),
            Self::Bbr(control) => control.save_window(),
        }
    }

    /// Reacts to a retransmission timeout. `first` if it is the first of a row, or follows progress since the last one.
    pub(crate) fn on_timeout(&mut self, first: bool) {
        match self {
            Self::Cubic(control) => control.on_timeout(first),
            Self::Bbr(control) => control.on_timeout(first),
        }
    }

    /// Ends a recovery: everything sent before the loss is acknowledged.
    pub(crate) fn on_recovered(&mut self) {
        match self {
            Self::Cubic(control) => control.on_recovered(),
            Self::Bbr(_) => {}
        }
    }

    /// Reverts the reaction to a loss: the segments retransmitted had only been late.
    pub(crate) fn on_false_alarm(&mut self) {
        match self {
            Self::Cubic(control) => control.on_false_alarm(),
            Self::Bbr(control) => control.on_false_alarm(),
        }
    }

    /// Reacts to a transmission after a pause of `timeouts` retransmission timeouts.
    pub(crate) fn on_pause(&mut self, timeouts: u64) {
        match self {
            Self::Cubic(control) => control.on_pause(timeouts),
            Self::Bbr(_) => {}
        }
    }

    /// Processes an acknowledgement.
    pub(crate) fn on_acknowledgment(&mut self, sample: &Sample) {
        match self {
            Self::Cubic(control) => control.on_acknowledgment(sample),
            Self::Bbr(control) => control.on_acknowledgment(sample),
        }
    }

    /// Returns true if samples after a lack of data count as application limited, whatever the application does.
    pub(crate) fn forces_app_limited(&self) -> bool {
        match self {
            Self::Cubic(_) => false,
            Self::Bbr(control) => control.probes_round_trip(),
        }
    }
}
