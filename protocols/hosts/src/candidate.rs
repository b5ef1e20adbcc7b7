//! An address that a peer seems to have now, until the peer has shown that it receives there (RFC 9000 §8.2, §9.3).

use planted::Bug;
use units::{Duration, Instant};
use wire::address::HopAddress;

/// Bytes that may go to the address for each byte that came from there (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;
/// Time between the first two challenges, in round trips, and its limits; it doubles each time.
const ROUND_TRIPS: u64 = 2;
const SHORTEST: Duration = Duration::from_millis(50);
const UNKNOWN: Duration = Duration::from_secs(1);
/// Most time between two challenges.
const LONGEST: Duration = Duration::from_secs(5);

/// State of the candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) at: HopAddress,
    /// Bytes that may be sent there.
    credit: u64,
    /// Time of the next challenge, and the pause after it.
    next: Instant,
    pause: Duration,
}

impl Candidate {
    /// Returns a candidate that is challenged now; `round_trip` is that of the present path.
    pub(crate) fn new(now: Instant, at: HopAddress, round_trip: Option<Duration>) -> Self {
        let pause = round_trip.map_or(UNKNOWN, |time| time * ROUND_TRIPS);
        Self {
            at,
            credit: 0,
            next: now,
            pause: pause.clamp(SHORTEST, UNKNOWN),
        }
    }

    /// Records bytes from the address.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_add(AMPLIFICATION * bytes as u64);
    }

    /// Takes `bytes` that go to the address, or returns false if they would be too many.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        let left = if planted::is(Bug::CreditIsInfinite) {
            Some(self.credit)
        } else {
            self.credit.checked_sub(bytes as u64)
        };
        self.credit = left.unwrap_or(self.credit);
        left.is_some()
    }

    /// Returns true if a challenge of so many bytes is to be sent now.
    pub(crate) fn challenges(&mut self, now: Instant, bytes: usize) -> bool {
        let challenges = self.next <= now && self.spend(bytes);
        if challenges {
            self.next = now + self.pause;
            self.pause = (self.pause * 2).min(LONGEST);
        }
        challenges
    }

    /// Returns the time of the next challenge of so many bytes; `None` if it must wait for bytes from the address.
    pub(crate) fn due(&self, bytes: usize) -> Option<Instant> {
        let may_send = self.credit >= bytes as u64 || planted::is(Bug::TimerIsNeverDone);
        may_send.then_some(self.next)
    }
}
