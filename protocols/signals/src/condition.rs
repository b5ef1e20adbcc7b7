//! What is wrong on a hop, and what of it is told.

use units::{Duration, Instant};

use crate::{Event, Signal};

/// What the end of a hop notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There are new keys; `fresh` if the peer has started anew, so that nothing of before is left.
    Connected {
        /// See above.
        fresh: bool,
    },
    /// The keys have grown too old.
    Expired,
    /// Nothing comes through.
    FadeBegan,
    /// Something came through again.
    FadeEnded {
        /// How long nothing had.
        lasted: Duration,
        /// Nothing was given up for it.
        kept: bool,
    },
    /// The mobile host is changing its place.
    HandoffBegan,
    /// It is in reach from the new one.
    HandoffEnded,
}

/// The hop to one peer, as applications are told of it: several things can be wrong at a time, and all is well when
/// none is left.
#[derive(Debug, Clone)]
pub struct Condition {
    peer: String,
    keyless: bool,
    fading: bool,
    moving: bool,
    /// Since when something is wrong.
    wrong_since: Option<Instant>,
    /// Whether nothing has been given up since then, and whether that is so for flows that are held.
    kept: bool,
    held: bool,
    /// What was told last.
    told: (Instant, Event),
}

impl Condition {
    /// A hop to `peer` that has no keys yet.
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

    /// Whose hop it is.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// What a newcomer is told.
    pub fn present(&self) -> Signal {
        let (at, event) = self.told;
        self.signal(at, event, true)
    }

    /// Something has changed; gives what is to be told of it.
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
            Change::HandoffBegan => {
                let news = !self.moving && !self.keyless && !self.fading;
                self.moving = true;
                let within = Duration::ZERO;
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

    /// Begins a time in which something is wrong, or ends it, which is to be told.
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
