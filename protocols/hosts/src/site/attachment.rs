//! The attachment of this mobile host to a gateway of its site.

use association::Report;
use units::{Duration, Instant};

use super::copies::Gathering;

/// Pause before the first repetition of a request; it doubles, up to the longest one.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(2);
/// Number of requests for which the patience has room: a bad hop loses requests and answers.
const REQUESTS: u64 = 10;
/// Time after which an attachment is given up, and the same if the former gateway is silent, as there may be others.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_IN_SILENCE: Duration = Duration::from_secs(2);

/// Round trip between a gateway and the home that is short for any hop.
const NEAR: Duration = Duration::from_millis(5);

/// Pause before the message that asks for keys is repeated; it doubles. A session alone waits for longer.
const HANDSHAKE: Duration = Duration::from_millis(250);

/// Number of questions without an answer after which a trial is futile.
const TIMES: u8 = 3;

/// Cause of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No gateway serves this host yet, or the one that does has begun anew. It cannot be given up.
    First,
    /// A request.
    Asked,
    /// The silence of the former gateway.
    Silence,
    /// A comparison, in which the former gateway was worse.
    Better,
    /// A program, which says that the hop to the former gateway is about to end.
    Announced,
}

impl Cause {
    /// Returns the time after which an attachment is given up, if it can be.
    fn patience(self) -> Option<Duration> {
        match self {
            Self::First => None,
            Self::Asked | Self::Better | Self::Announced => Some(PATIENCE),
            Self::Silence => Some(PATIENCE_IN_SILENCE),
        }
    }
}

/// A question to the home by way of another gateway, and to that gateway itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trial {
    /// Time when both were asked first, and the number of times.
    asked: Option<Instant>,
    times: u8,
    /// Round trip to the gateway, once it has answered.
    gateway: Option<Duration>,
}

impl Trial {
    /// Notes that both are asked.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
        self.times = self.times.saturating_add(1);
    }

    /// Notes that the gateway has answered.
    pub(crate) fn gateway_answered(&mut self, now: Instant) {
        let asked = self.asked.unwrap_or(now);
        self.gateway.get_or_insert(now.since(asked));
    }

    /// Returns true if the home has not answered several times, though the gateway has, or is the home itself.
    pub(crate) fn is_futile(&self, is_home: bool) -> bool {
        self.times >= TIMES && (is_home || self.gateway.is_some())
    }

    /// Returns true if the home, which answers now, is so near to the gateway that repairs from there take at
    /// most a quarter longer; `None` if the gateway has not answered.
    pub(crate) fn is_near(&self, now: Instant) -> Option<bool> {
        let home = now.since(self.asked.unwrap_or(now));
        let hop = self.gateway?;
        Some(home.saturating_sub(hop) <= (hop / 4).max(NEAR))
    }
}

/// When an attachment repeats what it has sent.
#[derive(Debug)]
struct Repetitions {
    /// Time of the next handshake, until there are keys, and the pause after it.
    handshake: Instant,
    after_handshake: Duration,
    /// The pause after the next request.
    after_request: Duration,
}

/// An attachment that is not complete.
#[derive(Debug)]
pub(crate) struct Attachment {
    /// Index of the next gateway.
    pub(crate) to: usize,
    pub(crate) number: u64,
    pub(crate) cause: Cause,
    /// The trial of another path to the home, which remains the other end of the hop then.
    pub(crate) trial: Option<Trial>,
    /// True once it is announced.
    pub(crate) is_announced: bool,
    /// True if the gateway that should serve this host has refused to.
    pub(crate) is_after_refusal: bool,
    pub(crate) since: Instant,
    /// What this host has delivered of the former gateway's packets, once it asks.
    pub(crate) report: Option<Report>,
    /// Time of the next request, since this host asks.
    pub(crate) due: Option<Instant>,
    repetitions: Repetitions,
    /// The wait for copies at the next gateway.
    pub(crate) gathering: Option<Box<Gathering>>,
    /// Time when it is given up, if this host can stay with another gateway.
    ends: Option<Instant>,
}

impl Attachment {
    /// Returns an attachment to the gateway `to`.
    pub(crate) fn new(now: Instant, to: usize, number: u64, cause: Cause) -> Self {
        Self {
            to,
            number,
            cause,
            trial: None,
            is_announced: false,
            is_after_refusal: false,
            since: now,
            report: None,
            due: None,
            repetitions: Repetitions {
                handshake: now + HANDSHAKE,
                after_handshake: HANDSHAKE * 2,
                after_request: PAUSE,
            },
            gathering: None,
            ends: cause.patience().map(|patience| now + patience),
        }
    }

    /// Returns true if any gateway will do, and none has answered yet.
    pub(crate) fn is_open(&self) -> bool {
        self.cause == Cause::Announced && self.due.is_none()
    }

    /// Returns true if the message for keys was repeated.
    pub(crate) fn has_repeated(&self) -> bool {
        self.repetitions.after_handshake > HANDSHAKE * 2
    }

    /// Ends the trial, as the next gateway is to serve this host.
    pub(crate) fn end_trial(&mut self, now: Instant) {
        (self.trial, self.due) = (None, None);
        self.ends = self.cause.patience().map(|patience| now + patience);
    }

    /// Returns true if the association with the former gateway is frozen.
    pub(crate) fn freezes(&self) -> bool {
        self.due.is_some() && self.trial.is_none()
    }

    /// Returns true if the message for keys is to be repeated, and sets the time of the next one.
    pub(crate) fn repeats_handshake(&mut self, now: Instant) -> bool {
        let Repetitions {
            handshake,
            after_handshake,
            ..
        } = &mut self.repetitions;
        let waits_for_keys = self.due.is_none() && self.gathering.is_none();
        let repeats = waits_for_keys && *handshake <= now;
        if repeats {
            *handshake = now + *after_handshake;
            *after_handshake = *after_handshake * 2;
        }
        repeats
    }

    /// Returns true if a request is due, and sets the time of the next one.
    pub(crate) fn asks(&mut self, now: Instant) -> bool {
        let asks = self.due.is_some_and(|due| due <= now);
        if asks {
            let most = self
                .cause
                .patience()
                .map_or(PAUSE_MOST, |all| all / REQUESTS);
            let pause = &mut self.repetitions.after_request;
            self.due = Some(now + *pause);
            *pause = (*pause * 2).min(most);
        }
        asks
    }

    /// Returns the time of the next request, or when it is given up.
    pub(crate) fn acts_at(&self) -> Option<Instant> {
        let before = match &self.gathering {
            Some(gathering) => gathering.due(),
            None => Some(self.repetitions.handshake),
        };
        machine::earlier(self.due.or(before), self.ends)
    }

    /// Returns true if it is to be given up.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }
}
