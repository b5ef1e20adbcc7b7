//! Random faults.

use machine::RandomStream;
use units::{Duration, Probability};

use crate::Faults;

/// A random event with a stream of its own, so that a change of its probability changes no other event.
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    chance: Probability,
    stream: RandomStream,
}

impl Chance {
    fn new(seed: u64, name: &str) -> Self {
        Self {
            chance: Probability::NEVER,
            stream: RandomStream::named(seed, name),
        }
    }

    /// Returns true if it happens now, and counts it.
    pub(crate) fn happens(&mut self, count: &mut u64) -> bool {
        let happens = self.stream.chance(self.chance);
        *count += u64::from(happens);
        happens
    }

    /// Returns a random number for its details.
    pub(crate) fn number(&mut self) -> u64 {
        self.stream.next_u64()
    }
}

/// All random faults: see [`Faults`].
#[derive(Debug, Clone)]
pub(crate) struct Chances {
    pub(crate) lost_requests: Chance,
    pub(crate) repeated_requests: Chance,
    pub(crate) lost_replies: Chance,
    pub(crate) delayed_replies: Chance,
    pub(crate) wrong_transactions: Chance,
    pub(crate) broken_replies: Chance,
    pub(crate) try_later: Chance,
    pub(crate) short_transfers: Chance,
    delay: Duration,
}

impl Chances {
    pub(crate) fn new(seed: u64, faults: &Faults) -> Self {
        let chance = |name| Chance::new(seed, name);
        let mut chances = Self {
            lost_requests: chance("file server: lost requests"),
            repeated_requests: chance("file server: repeated requests"),
            lost_replies: chance("file server: lost replies"),
            delayed_replies: chance("file server: delayed replies"),
            wrong_transactions: chance("file server: wrong transactions"),
            broken_replies: chance("file server: broken replies"),
            try_later: chance("file server: try later"),
            short_transfers: chance("file server: short transfers"),
            delay: Duration::ZERO,
        };
        chances.set(faults);
        chances
    }

    /// Sets the probabilities from now on.
    pub(crate) fn set(&mut self, faults: &Faults) {
        self.lost_requests.chance = faults.lost_requests;
        self.repeated_requests.chance = faults.repeated_requests;
        self.lost_replies.chance = faults.lost_replies;
        self.delayed_replies.chance = faults.delayed_replies;
        self.wrong_transactions.chance = faults.wrong_transactions;
        self.broken_replies.chance = faults.broken_replies;
        self.try_later.chance = faults.try_later;
        self.short_transfers.chance = faults.short_transfers;
        self.delay = faults.delay;
    }

    /// Returns the delay of a delayed reply.
    pub(crate) fn delay(&mut self) -> Duration {
        let stream = &mut self.delayed_replies.stream;
        stream.uniform(Duration::ZERO, self.delay)
    }
}
