//! One shared air: how fast it is, and when it is free.
//!
//! [`Air`] bounds what is outstanding by the rate of the hop, which it measures by the times at which frames *arrive*:
//! a loss on the air never lowers it, while a growing queue does. The queue thus stands in our own daemon and not in
//! the hop, and whoever else fills that of the hop is met as an equal.
//!
//! [`SharedAir`] is the air of several destinations, which take turns on it. The [`Air`] of each of them is then one
//! [in turns](Air::in_turns): it measures the rate, and opens for its turns.

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

/// The rate of one medium, and when it is open to one sender.
#[derive(Debug)]
pub struct Air {
    law: Law,
    given: Option<BitRate>,
    learned_at: Option<Instant>,
}

/// What decides when frames leave.
#[derive(Debug)]
enum Law {
    /// A window, on an air of its own.
    Window(Box<Window>),
    /// Turns, on an air that others use too.
    Turns(Box<Turns>),
}

/// The turns of one sender.
#[derive(Debug, Default)]
struct Turns {
    /// Number of bytes that may leave now.
    content: Option<Bytes>,
    /// True if a frame may leave now that only acknowledges.
    acknowledgement: bool,
    /// The rate of the air, as its senders agree on it, once it is known.
    rate: Option<BitRate>,
    estimate: Estimate,
    /// Number of bytes sent before any rate was measured.
    blind: Bytes,
}

/// A window, and what is outstanding of it.
#[derive(Debug, Default)]
struct Window {
    pacer: Pacer,
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
            law: Law::Window(Box::default()),
            given,
            learned_at: None,
        }
    }

    /// The same air, where others use it too: it is open only in [turns](Self::begin_turn), its rate is measured, and
    /// nothing bounds what is outstanding.
    #[must_use]
    pub fn in_turns(self) -> Self {
        Self {
            law: Law::Turns(Box::default()),
            ..self
        }
    }

    /// Opens an air [in turns](Self::in_turns) for some bytes; `rate` is that of the air, if it is known.
    pub fn begin_turn(&mut self, bytes: Bytes, rate: Option<BitRate>) {
        if let Law::Turns(turns) = &mut self.law {
            turns.content = Some(bytes);
            turns.rate = rate.or(turns.rate);
        }
    }

    /// Opens an air [in turns](Self::in_turns) for one frame that only acknowledges.
    pub fn begin_acknowledgement(&mut self) {
        if let Law::Turns(turns) = &mut self.law {
            turns.acknowledgement = true;
        }
    }

    /// Ends a turn, used or not.
    pub fn end_turn(&mut self) {
        if let Law::Turns(turns) = &mut self.law {
            (turns.content, turns.acknowledgement) = (None, false);
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

    /// Returns when a frame that only acknowledges may leave next; `None` before a turn begins.
    pub fn free_at(&self) -> Option<Instant> {
        match &self.law {
            Law::Window(window) => Some(window.pacer.free_at()),
            Law::Turns(turns) => turns.acknowledgement.then_some(Instant::ZERO),
        }
    }

    /// Returns when content may leave next; `None` before a turn begins.
    pub fn opens_at(&self) -> Option<Instant> {
        match &self.law {
            Law::Window(window) if self.given.is_none() => {
                let open = window.opens_at(self.learned_at.is_some());
                Some(window.pacer.free_at().max(open))
            }
            Law::Window(window) => Some(window.pacer.free_at()),
            Law::Turns(turns) => turns.content.map(|_| Instant::ZERO),
        }
    }

    /// Returns how many bytes may go on the air now; `None` while it is busy, or while enough is outstanding.
    pub fn grant(&self, now: Instant) -> Option<Bytes> {
        self.opens_at().filter(|opens_at| *opens_at <= now)?;
        match &self.law {
            Law::Window(window) => {
                let room = self.window().saturating_sub(window.outstanding).max(1);
                let granted = window.pacer.grant(now, self.pace())?;
                Some(granted.min(Bytes::new(room)))
            }
            Law::Turns(turns) => turns.content,
        }
    }

    /// Returns the number of bytes that may be outstanding; it is without limit where no window bounds them.
    pub fn window(&self) -> u64 {
        match &self.law {
            Law::Window(window) if self.given.is_none() => window.control.window(),
            Law::Window(_) | Law::Turns(_) => u64::MAX,
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
            Law::Turns(turns) => {
                if !turns.estimate.has_measured() {
                    turns.blind += bytes;
                }
                turns.estimate.sent(bytes);
            }
        }
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
            Law::Turns(turns) => turns.estimate.learn(now, sample),
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
            Law::Turns(turns) => turns.estimate.rate(),
        })
    }

    /// Returns the rate that queues before the air are to be sized for: the highest that the hop has had for some
    /// seconds, as a sender that was told of a dip would leave the air idle behind it.
    pub fn crest(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            Law::Window(window) => window.control.crest(),
            Law::Turns(turns) => turns.estimate.rate(),
        })
    }

    /// Returns whether the rate is known, and not only a first guess that still grows.
    pub fn is_settled(&self) -> bool {
        let is_starting = match &self.law {
            Law::Window(window) => window.control.is_starting(),
            Law::Turns(turns) => turns.estimate.is_starting(),
        };
        self.given.is_some() || !is_starting
    }

    /// Returns the rate of the hop where it is known; where several use it, that on which they agree.
    pub fn known_rate(&self) -> Option<BitRate> {
        match &self.law {
            Law::Window(_) => self.is_settled().then(|| self.rate()),
            Law::Turns(turns) => turns.rate,
        }
    }

    /// Returns the rate at which frames leave now.
    pub fn pace(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            Law::Window(window) => window.control.pace(window.outstanding),
            Law::Turns(turns) if turns.is_blind() => BLIND_PACE,
            Law::Turns(turns) => turns.estimate.pace(),
        })
    }

    /// Returns what is known of its rate, once anything is.
    pub fn measured(&self) -> Option<Measured> {
        let has_measured = match &self.law {
            Law::Window(window) => window.control.has_measured(),
            Law::Turns(turns) => turns.estimate.has_measured(),
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
            Law::Turns(turns) => size_of::<Turns>() + turns.estimate.memory(),
        };
        Bytes::from(size_of::<Self>() + law)
    }

    /// Returns whether others fill the queue of the hop, as far as is known.
    pub fn is_contended(&self) -> bool {
        match &self.law {
            Law::Window(window) => window.control.is_competing(),
            Law::Turns(_) => false,
        }
    }

    /// Returns how long frames wait in the hop.
    pub fn queueing(&self) -> Duration {
        match &self.law {
            Law::Window(window) => window.control.queueing(),
            Law::Turns(turns) => turns.estimate.queueing(),
        }
    }
}

impl Turns {
    /// Returns true if much was sent before any rate was measured.
    fn is_blind(&self) -> bool {
        self.blind > BLIND_MAX && !self.estimate.has_measured()
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
            self.outstanding,
            window,
            round_trip,
            self.control.is_starting(),
        )
    }

    fn spent(&mut self, now: Instant, bytes: Bytes, pace: BitRate) {
        self.control.sent(bytes);
        let sent = silence::Sent {
            bytes,
            frame: pace.time_for(Bytes::new(self.control.frame())),
            outstanding: self.outstanding,
            window: self.control.window(),
            rate: self.control.rate(),
            round_trip: self.control.round_trip(),
        };
        self.silence.sent(now, &sent);
        self.pacer.spent(now, bytes, pace);
    }

    fn learn(&mut self, now: Instant, sample: &Sample) {
        self.forgiven = 0;
        self.control.learn(now, sample, self.outstanding);
        let (wait, round_trip) = (self.control.queueing(), self.control.round_trip());
        let window = self.control.window();
        self.silence
            .heard(now, wait, round_trip, sample.lost_total, window);
    }
}
