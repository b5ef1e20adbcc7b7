//! The state of a hop, and the signals about its changes.

use units::{Duration, Instant};

use crate::{Event, Signal};

/// Change that the end of a hop detects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There are new keys; `fresh` if the peer has restarted, so that earlier state is lost.
    Connected {
        /// True if the peer has restarted.
        fresh: bool,
    },
    /// The keys have expired.
    Expired,
    /// No packets get through.
    FadeBegan,
    /// Packets get through again.
    FadeEnded {
        /// Duration of the fade.
        lasted: Duration,
        /// True if no packet was given up because of it.
        kept: bool,
    },
    /// The mobile host begins a hand-off, or one is announced.
    HandoffBegan {
        /// Time until it begins.
        within: Duration,
    },
    /// The hand-off is over: the mobile host is reachable again.
    HandoffEnded,
}

/// State of the hop to one peer, as reported to applications: it may have several faults at a time, and works when
/// there is none.
#[derive(Debug, Clone)]
pub struct Condition {
    peer: String,
    keyless: bool,
    fading: bool,
    moving: bool,
    /// Time since which there is a fault.
    wrong_since: Option<Instant>,
    /// True if no packet has been given up since then; then the same for flows that are held.
    kept: bool,
    held: bool,
    /// Last signal, with its time.
    told: (Instant, Event),
}

impl Condition {
    /// Returns the state of a hop to `peer` that has no keys yet.
    pub fn new(now: Instant, peer: String) -> Self {
        Self {
            peer,
            keyless: true,
            fading: false,
            moving: false,
            wrong_since: Some(now),
            kept: false,
            held: false,
            told: (now, Event::Disconnected),
        }
    }

    /// Returns the name of the peer.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Returns the signal for a new listener.
    pub fn present(&self) -> Signal {
        let (at, event) = self.told;
        self.signal(at, event, true)
    }

    /// Notes a change. Returns the signal about it, if there is one.
    pub fn note(&mut self, now: Instant, change: Change) -> Option<Signal> {
        let event = match change {
            Change::Expired => {
                self.keyless = true;
                self.kept = false;
                Some(Event::Disconnected)
            }
            Change::FadeBegan => {
                let news = !self.fading && !self.keyless;
                self.fading = true;
                news.then_some(Event::Fade)
            }
            Change::HandoffBegan { within } => {
                let news = !self.moving && !self.keyless && !self.fading;
                self.moving = true;
                news.then_some(Event::HandoffImpending { within })
            }
            Change::Connected { fresh } => {
                let lost = fresh && !self.is_wrong();
                self.keyless = false;
                if fresh {
                    (self.fading, self.moving) = (false, false);
                    (self.kept, self.held) = (false, false);
                }
                lost.then_some(Event::Restored {
                    kept: false,
                    held: false,
                    lasted: Duration::ZERO,
                })
            }
            Change::FadeEnded { lasted, kept } => {
                let from = now - lasted;
                self.wrong_since = self.wrong_since.map(|since| since.min(from));
                self.fading = false;
                self.kept &= kept;
                None
            }
            Change::HandoffEnded => {
                self.moving = false;
                None
            }
        };
        let event = self.settle(now).or(event)?;
        self.told = (now, event);
        Some(self.signal(now, event, false))
    }

    fn is_wrong(&self) -> bool {
        self.keyless || self.fading || self.moving
    }

    /// Begins or ends the time with faults. Returns the event if it ends.
    fn settle(&mut self, now: Instant) -> Option<Event> {
        if self.is_wrong() {
            if self.wrong_since.is_none() {
                self.wrong_since = Some(now);
                (self.kept, self.held) = (!self.keyless, true);
            }
            return None;
        }
        let since = self.wrong_since.take()?;
        Some(Event::Restored {
            kept: self.kept,
            held: self.held,
            lasted: now.since(since),
        })
    }

    fn signal(&self, at: Instant, event: Event, past: bool) -> Signal {
        let peer = self.peer.clone();
        Signal {
            at,
            peer,
            event,
            past,
        }
    }
}
