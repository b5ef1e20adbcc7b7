//! What the two ends of a hop want of each other about the resolver, and the question of a mobile host.

use units::{Duration, Instant};
use wire::hop::Resolvers;

/// Time until a question is repeated: at first, and at most. An answer may be lost like any datagram.
const REPEAT: Duration = Duration::from_millis(500);
const REPEAT_MOST: Duration = Duration::from_secs(30);

/// Feature bit: the gateway answers questions about its resolver.
const ANSWERS: u64 = 32;

/// Terms for the resolver of the hop to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResolverTerms {
    /// This host neither asks nor answers.
    #[default]
    Silent,
    /// A mobile host asks its gateway, and reports the answer ([`Output::Resolvers`](crate::Output::Resolvers)).
    Ask,
    /// A gateway answers with these, perhaps with none.
    Offer(Resolvers),
}

impl ResolverTerms {
    /// Returns the feature bits to advertise.
    pub(crate) fn features(&self) -> u64 {
        match self {
            Self::Silent | Self::Ask => 0,
            Self::Offer(_) => ANSWERS,
        }
    }
}

/// Returns true if a gateway with these feature bits answers.
pub(crate) fn answers(features: u64) -> bool {
    features & ANSWERS != 0
}

/// The question of a mobile host to its gateway.
#[derive(Debug, Default)]
pub(crate) struct Inquiry {
    /// Time of the next question, until there is an answer.
    due: Option<Instant>,
    interval: Duration,
    /// The last answer.
    known: Option<Resolvers>,
}

impl Inquiry {
    /// Begins to ask: the gateway has keys, and perhaps another resolver than before.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.due, self.interval) = (Some(now), REPEAT);
    }

    /// Ends without an answer: the gateway has no keys any more.
    pub(crate) fn end(&mut self) {
        self.due = None;
    }

    /// Returns the time of the next question.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns true if a question is due now, and notes that it is asked.
    pub(crate) fn asks(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.due = Some(now + self.interval);
            self.interval = (self.interval * 2).min(REPEAT_MOST);
        }
        is_due
    }

    /// Notes an answer; returns true if it differs from the one before.
    pub(crate) fn answered(&mut self, resolvers: &Resolvers) -> bool {
        self.due = None;
        let is_news = self.known.as_ref() != Some(resolvers);
        self.known = Some(resolvers.clone());
        is_news
    }
}
