//! One shared air: how fast it is, and when it is free.
//!
//! [`Air`] bounds what is outstanding by the rate of the hop, which it measures by the times at which frames *arrive*:
//! a loss on the air never lowers it, while a growing queue does. The queue thus stands in our own daemon and not in
//! the hop, and whoever else fills that of the hop is met as an equal. Where it is [`Air::granted`], it only measures.
//!
//! [`SharedAir`] is the air of several destinations, who take turns on it.

mod consensus;
mod control;
mod estimate;
mod pacer;
mod shared;
mod silence;

use arq::Sample;
pub use consensus::Measured;
use control::Control;
use estimate::Estimate;
pub use pacer::Pacer;
pub use shared::{AirStatus, SharedAir, Turn};
use silence::Silence;
use units::{BitRate, Bytes, Duration, Instant};

/// What may be sent at the initial pace before any rate is measured: a few initial windows of TCP.
const BLIND_MAX: Bytes = Bytes::kibi(40);
/// The pace beyond it, until one is, and while what was measured is in doubt.
const BLIND_PACE: BitRate = BitRate::from_kilobits(256);

/// The pacer, the window and the rate of one medium.
#[derive(Debug)]
pub struct Air {
    pacer: Pacer,
    law: Law,
    given: Option<BitRate>,
    learned_at: Option<Instant>,
}

/// What decides how fast frames leave.
#[derive(Debug)]
enum Law {
    /// A window, on an air of its own.
    Window(Box<Window>),
    /// A rate, on an air that somebody else grants.
    Rate {
        estimate: Box<Estimate>,
        /// Sent before any rate was measured.
        blind: Bytes,
    },
}

/// A window, and what is outstanding of it.
#[derive(Debug, Default)]
struct Window {
    control: Control,
    silence: Silence,
    /// Bytes on their way, as far as is known.
    outstanding: u64,
    /// Bytes on their way that left on a former path.
    forgiven: u64,
}

impl Air {
    /// An air of `given` rate, or one whose rate is to be measured.
    pub fn new(given: Option<BitRate>) -> Self {
        Self {
            pacer: Pacer::default(),
            law: Law::Window(Box::default()),
            given,
            learned_at: None,
        }
    }

    /// The same air, where somebody else grants it: its rate is measured, and nothing bounds what is outstanding.
    #[must_use]
    pub fn granted(self) -> Self {
        Self {
            law: Law::Rate {
                estimate: Box::default(),
                blind: Bytes::ZERO,
            },
            ..self
        }
    }

    /// The path has changed: what was outstanding on the former one counts no more, and delays are measured anew.
    pub fn path_changed(&mut self) {
        if let Law::Window(window) = &mut self.law {
            window.forgiven += window.outstanding;
            window.outstanding = 0;
            window.control.path_changed();
        }
    }

    /// Returns when the air is free next, as far as its pace decides.
    pub fn free_at(&self) -> Instant {
        self.pacer.free_at()
    }

    /// Returns when content may leave next; acknowledgements need only [`free_at`](Self::free_at).
    pub fn opens_at(&self) -> Instant {
        let free = self.pacer.free_at();
        match &self.law {
            Law::Window(window) if self.given.is_none() => {
                free.max(window.opens_at(self.learned_at.is_some()))
            }
            Law::Window(_) | Law::Rate { .. } => free,
        }
    }

    /// Returns how many bytes may go on the air now; `None` while it is busy, or while enough is outstanding.
    pub fn grant(&self, now: Instant) -> Option<Bytes> {
        if self.opens_at() > now {
            return None;
        }
        let room = self.window().saturating_sub(self.outstanding()).max(1);
        let granted = self.pacer.grant(now, self.pace())?;
        Some(granted.min(Bytes::new(room)))
    }

    /// Returns whether a frame that only acknowledges may go on the air now.
    pub fn admits_acknowledgement(&self, now: Instant) -> bool {
        self.pacer.free_at() <= now
    }

    /// Returns how many bytes may be outstanding: without end where no window bounds them.
    pub fn window(&self) -> u64 {
        match &self.law {
            Law::Window(window) if self.given.is_none() => window.control.window(),
            Law::Window(_) | Law::Rate { .. } => u64::MAX,
        }
    }

    fn outstanding(&self) -> u64 {
        match &self.law {
            Law::Window(window) => window.outstanding,
            Law::Rate { .. } => 0,
        }
    }

    /// So many bytes are on their way.
    pub fn set_outstanding(&mut self, bytes: Bytes) {
        if let Law::Window(window) = &mut self.law {
            window.forgiven = window.forgiven.min(bytes.get());
            window.outstanding = bytes.get() - window.forgiven;
        }
    }

    /// Bytes have gone on the air.
    pub fn spent(&mut self, now: Instant, bytes: Bytes) {
        let pace = self.pace();
        match &mut self.law {
            Law::Window(window) => window.spent(now, bytes, pace),
            Law::Rate { estimate, blind } => {
                if !estimate.has_measured() {
                    *blind += bytes;
                }
                estimate.sent(bytes);
            }
        }
        self.pacer.spent(now, bytes, pace);
    }

    /// There is nothing more to send, although the air would take it.
    pub fn idle(&mut self) {
        if let Law::Window(window) = &mut self.law
            && window.outstanding < window.control.window()
        {
            window.control.idle();
        }
    }

    /// Learns from the latest transmission that arrived.
    pub fn learn(&mut self, now: Instant, sample: &Sample) {
        match &mut self.law {
            Law::Window(window) => window.learn(now, sample),
            Law::Rate { estimate, .. } => estimate.learn(now, sample),
        }
        self.learned_at = Some(now);
    }

    /// Returns when it learned last.
    pub fn learned_at(&self) -> Option<Instant> {
        self.learned_at
    }

    /// Returns the rate of the hop.
    pub fn rate(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            Law::Window(window) => window.control.rate(),
            Law::Rate { estimate, .. } => estimate.rate(),
        })
    }

    /// Returns the rate that queues before the air are to be sized for: the highest that the hop has had for some
    /// seconds, as a sender that was told of a dip would leave the air idle behind it.
    pub fn crest(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            Law::Window(window) => window.control.crest(),
            Law::Rate { estimate, .. } => estimate.rate(),
        })
    }

    /// Returns whether the rate is known, and not only a first guess that still grows.
    pub fn is_settled(&self) -> bool {
        let is_starting = match &self.law {
            Law::Window(window) => window.control.is_starting(),
            Law::Rate { estimate, .. } => estimate.is_starting(),
        };
        self.given.is_some() || !is_starting
    }

    /// Returns the rate at which frames leave now.
    pub fn pace(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            Law::Window(window) => window.control.pace(window.outstanding),
            Law::Rate { estimate, blind } if *blind > BLIND_MAX && !estimate.has_measured() => {
                BLIND_PACE
            }
            Law::Rate { estimate, .. } => estimate.pace(),
        })
    }

    /// Returns what is known of its rate, once anything is.
    pub fn measured(&self) -> Option<Measured> {
        let has_measured = match &self.law {
            Law::Window(window) => window.control.has_measured(),
            Law::Rate { estimate, .. } => estimate.has_measured(),
        };
        (self.given.is_some() || has_measured).then(|| Measured {
            pace: self.pace(),
            rate: self.rate(),
            is_settled: self.is_settled(),
        })
    }

    /// Returns the bytes that it holds.
    pub fn memory(&self) -> Bytes {
        let law = match &self.law {
            Law::Window(window) => size_of::<Window>() + window.control.memory(),
            Law::Rate { estimate, .. } => size_of::<Estimate>() + estimate.memory(),
        };
        Bytes::from(size_of::<Self>() + law)
    }

    /// Returns whether others fill the queue of the hop, as far as is known.
    pub fn is_contended(&self) -> bool {
        match &self.law {
            Law::Window(window) => window.control.is_competing(),
            Law::Rate { .. } => false,
        }
    }

    /// Returns how long frames wait in the hop.
    pub fn queueing(&self) -> Duration {
        match &self.law {
            Law::Window(window) => window.control.queueing(),
            Law::Rate { estimate, .. } => estimate.queueing(),
        }
    }
}

impl Window {
    /// Returns when something may leave, as far as what is outstanding decides.
    fn opens_at(&self, has_learned: bool) -> Instant {
        let window = self.control.window();
        if self.outstanding < window {
            return Instant::ZERO;
        }
        let round_trip =
            has_learned.then(|| self.control.round_trip_behind(Bytes::new(self.outstanding)));
        self.silence.opens_at(
            (self.outstanding, window),
            (round_trip, self.control.is_starting()),
        )
    }

    fn spent(&mut self, now: Instant, bytes: Bytes, pace: BitRate) {
        self.control.sent(bytes);
        let frame = pace.time_for(Bytes::new(self.control.frame()));
        let window = self.control.window();
        let hop = (self.control.rate(), self.control.round_trip());
        self.silence
            .sent(now, (self.outstanding, window), (bytes, frame), hop);
    }

    fn learn(&mut self, now: Instant, sample: &Sample) {
        self.forgiven = 0;
        self.control.learn(now, sample, self.outstanding);
        let times = (self.control.queueing(), self.control.round_trip());
        let window = self.control.window();
        self.silence.heard(now, times, (sample.lost_total, window));
    }
}
