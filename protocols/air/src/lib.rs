//! One shared air: its rate, and the times at which it is free.
//!
//! [`Air`] limits the bytes in flight by the rate of the hop, which it measures by the times at which frames *arrive*:
//! a loss on the air never lowers it, while a growing queue does. The queue thus stands in our own daemon and not in
//! the hop, and another sender that fills the queue of the hop gets an equal share.
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

/// Bytes that may be sent at the initial pace before any rate is measured: a few initial windows of TCP.
const BLIND_MAX: Bytes = Bytes::kibi(40);
/// Pace beyond [`BLIND_MAX`], until a rate is measured, and while the measurement is in doubt.
const BLIND_PACE: BitRate = BitRate::from_kilobits(256);

/// The rate of one medium, and the times at which one sender may use it.
#[derive(Debug)]
pub struct Air {
    law: SendingRule,
    given: Option<BitRate>,
    learned_at: Option<Instant>,
    /// Time of a change of the path, until a frame arrives that left after it.
    changed_at: Option<Instant>,
}

/// Permission to send on an air that others use too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Number of bytes that may be sent.
    pub bytes: Bytes,
    /// The rate of the air, if it is known.
    pub rate: Option<BitRate>,
    /// True if nobody has used the air for some time since the last grant: less arrived meanwhile than it can carry.
    pub was_idle: bool,
}

/// The rule for when frames leave.
#[derive(Debug)]
enum SendingRule {
    /// By a window, on an air of its own.
    Window(Box<Window>),
    /// In turns, on an air that others use too.
    Turns(Box<Turns>),
}

/// The turns of one sender.
#[derive(Debug, Default)]
struct Turns {
    /// Number of bytes that may leave now.
    content: Option<Bytes>,
    /// True if a frame that only acknowledges may leave now.
    acknowledgement: bool,
    /// The rate of the air, as its senders agree on it, once it is known.
    rate: Option<BitRate>,
    estimate: Estimate,
    /// Number of bytes sent before any rate was measured.
    blind: Bytes,
}

/// A window, and the bytes in flight.
#[derive(Debug, Default)]
struct Window {
    pacer: Pacer,
    control: Control,
    silence: Silence,
    /// Estimated bytes in flight.
    outstanding: u64,
    /// Bytes that were sent on the present path.
    sent: u64,
}

impl Air {
    /// Creates an air of the `given` rate, or one that measures its rate.
    pub fn new(given: Option<BitRate>) -> Self {
        Self {
            law: SendingRule::Window(Box::default()),
            given,
            learned_at: None,
            changed_at: None,
        }
    }

    /// Converts the air to one that others use too: it is open only in [turns](Self::begin_turn), its rate is measured,
    /// and the bytes in flight have no limit.
    #[must_use]
    pub fn in_turns(self) -> Self {
        Self {
            law: SendingRule::Turns(Box::default()),
            ..self
        }
    }

    /// Opens an air [in turns](Self::in_turns).
    pub fn begin_turn(&mut self, now: Instant, grant: Grant) {
        if let SendingRule::Turns(turns) = &mut self.law {
            turns.content = Some(grant.bytes);
            turns.rate = grant.rate.or(turns.rate);
            if grant.was_idle {
                turns.estimate.resumes(now);
            }
        }
    }

    /// Opens an air [in turns](Self::in_turns) for one frame that only acknowledges.
    pub fn begin_acknowledgement(&mut self) {
        if let SendingRule::Turns(turns) = &mut self.law {
            turns.acknowledgement = true;
        }
    }

    /// Ends a turn, used or not.
    pub fn end_turn(&mut self) {
        if let SendingRule::Turns(turns) = &mut self.law {
            (turns.content, turns.acknowledgement) = (None, false);
        }
    }

    /// Records a change of the path. Bytes in flight on the former one no longer count. What is known of that one is
    /// the best guess until a frame arrives that left now or later; those that left before tell nothing of the new one.
    pub fn path_changed(&mut self, now: Instant) {
        self.changed_at = Some(now);
        if let SendingRule::Window(window) = &mut self.law {
            window.sent = 0;
            window.set_outstanding(0);
        }
    }

    /// Returns the next time at which a frame that only acknowledges may leave; `None` before a turn begins.
    pub fn free_at(&self) -> Option<Instant> {
        match &self.law {
            SendingRule::Window(window) => Some(window.pacer.free_at()),
            SendingRule::Turns(turns) => turns.acknowledgement.then_some(Instant::ZERO),
        }
    }

    /// Returns the next time at which content may leave; `None` before a turn begins.
    pub fn opens_at(&self) -> Option<Instant> {
        match &self.law {
            SendingRule::Window(window) if self.given.is_none() => {
                let open = window.opens_at(self.learned_at.is_some());
                Some(window.pacer.free_at().max(open))
            }
            SendingRule::Window(window) => Some(window.pacer.free_at()),
            SendingRule::Turns(turns) => turns.content.map(|_| Instant::ZERO),
        }
    }

    /// Returns the number of bytes that may be sent now; `None` while the air is busy, or the window is full.
    pub fn grant(&self, now: Instant) -> Option<Bytes> {
        self.opens_at().filter(|opens_at| *opens_at <= now)?;
        match &self.law {
            SendingRule::Window(window) => {
                let room = self.window().saturating_sub(window.outstanding).max(1);
                let granted = window.pacer.grant(now, self.pace())?;
                Some(granted.min(Bytes::new(room)))
            }
            SendingRule::Turns(turns) => turns.content,
        }
    }

    /// Returns the limit of bytes in flight, which is the largest number if no window limits them.
    pub fn window(&self) -> u64 {
        match &self.law {
            SendingRule::Window(window) if self.given.is_none() => window.control.window(),
            SendingRule::Window(_) | SendingRule::Turns(_) => u64::MAX,
        }
    }

    /// Sets the bytes in flight.
    pub fn set_outstanding(&mut self, bytes: Bytes) {
        if let SendingRule::Window(window) = &mut self.law {
            window.set_outstanding(bytes.get().min(window.sent));
        }
    }

    /// Records that `bytes` were sent.
    pub fn spent(&mut self, now: Instant, bytes: Bytes) {
        let pace = self.pace();
        match &mut self.law {
            SendingRule::Window(window) => window.spent(now, bytes, pace),
            SendingRule::Turns(turns) => {
                if !turns.estimate.has_measured() {
                    turns.blind += bytes;
                }
                turns.estimate.sent(bytes);
            }
        }
    }

    /// Records that there is nothing more to send, although the air would take it.
    pub fn idle(&mut self) {
        if let SendingRule::Window(window) = &mut self.law
            && window.outstanding < window.control.window()
        {
            window.control.idle();
        }
    }

    /// Updates the measurements by the latest transmission that arrived.
    pub fn learn(&mut self, now: Instant, sample: &Sample) {
        let is_former = self.changed_at.is_some_and(|at| sample.sent_at < at);
        if !is_former {
            if self.changed_at.take().is_some() {
                self.begin_path();
            }
            match &mut self.law {
                SendingRule::Window(window) => {
                    window.control.learn(now, sample, window.outstanding);
                }
                SendingRule::Turns(turns) => turns.estimate.learn(now, sample),
            }
        }
        if let SendingRule::Window(window) = &mut self.law {
            window.hear(now, sample);
        }
        self.learned_at = Some(now);
    }

    fn begin_path(&mut self) {
        match &mut self.law {
            SendingRule::Window(window) => window.control.begin_path(),
            SendingRule::Turns(turns) => turns.estimate.begin_path(),
        }
    }

    /// Returns the time of the last update by [`learn`](Self::learn).
    pub fn learned_at(&self) -> Option<Instant> {
        self.learned_at
    }

    /// Returns the rate of the hop.
    pub fn rate(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            SendingRule::Window(window) => window.control.rate(),
            SendingRule::Turns(turns) => turns.estimate.rate(),
        })
    }

    /// Returns the rate for sizing queues before the air: the highest that the hop has had for some seconds, because a
    /// sender that is slowed down at a dip would leave the air idle after it.
    pub fn crest(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            SendingRule::Window(window) => window.control.crest(),
            SendingRule::Turns(turns) => turns.estimate.rate(),
        })
    }

    /// Returns true if the rate is known, and not only a first guess that still grows.
    pub fn is_settled(&self) -> bool {
        let is_starting = match &self.law {
            SendingRule::Window(window) => window.control.is_starting(),
            SendingRule::Turns(turns) => turns.estimate.is_starting(),
        };
        self.given.is_some() || !is_starting
    }

    /// Returns the rate of the hop if it is known; if several senders use it, the rate on which they agree.
    pub fn known_rate(&self) -> Option<BitRate> {
        match &self.law {
            SendingRule::Window(_) => self.is_settled().then(|| self.rate()),
            SendingRule::Turns(turns) => turns.rate,
        }
    }

    /// Returns the rate at which frames leave now.
    pub fn pace(&self) -> BitRate {
        self.given.unwrap_or_else(|| match &self.law {
            // The window is empty, and would leave at twice the rate.
            SendingRule::Window(window) if self.changed_at.is_some() => {
                window.control.pace(window.control.window())
            }
            SendingRule::Window(window) => window.control.pace(window.outstanding),
            SendingRule::Turns(turns) if turns.is_blind() => BLIND_PACE,
            SendingRule::Turns(turns) => turns.estimate.pace(),
        })
    }

    /// Returns the measurement of its rate, if there is one.
    pub fn measured(&self) -> Option<Measured> {
        let has_measured = match &self.law {
            SendingRule::Window(window) => window.control.has_measured(),
            SendingRule::Turns(turns) => turns.estimate.has_measured(),
        };
        (self.given.is_some() || has_measured).then(|| Measured {
            pace: self.pace(),
            rate: self.rate(),
            is_settled: self.is_settled(),
        })
    }

    /// Returns the number of bytes in memory.
    pub fn memory(&self) -> Bytes {
        let law = match &self.law {
            SendingRule::Window(window) => size_of::<Window>() + window.control.memory(),
            SendingRule::Turns(turns) => size_of::<Turns>() + turns.estimate.memory(),
        };
        Bytes::from(size_of::<Self>() + law)
    }

    /// Returns true if others seem to fill the queue of the hop.
    pub fn is_contended(&self) -> bool {
        match &self.law {
            SendingRule::Window(window) => window.control.is_competing(),
            SendingRule::Turns(_) => false,
        }
    }

    /// Returns the time that frames wait in the hop.
    pub fn queueing(&self) -> Duration {
        match &self.law {
            SendingRule::Window(window) => window.control.queueing(),
            SendingRule::Turns(turns) => turns.estimate.queueing(),
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
    fn set_outstanding(&mut self, bytes: u64) {
        self.outstanding = bytes;
        if bytes == 0 {
            self.silence.rests();
        }
    }

    /// Returns the time at which something may leave, as far as the bytes in flight determine it.
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
        self.sent += bytes.get();
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

    fn hear(&mut self, now: Instant, sample: &Sample) {
        let (wait, round_trip) = (self.control.queueing(), self.control.round_trip());
        let window = self.control.window();
        self.silence
            .heard(now, wait, round_trip, sample.lost_total, window);
    }
}
