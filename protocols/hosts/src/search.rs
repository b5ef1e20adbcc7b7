//! The search for a gateway that no longer answers at its address: its name may have another one by now.

use units::{Duration, Instant};
use wire::address::HopAddress;

/// Time without an answer after which the peer is searched for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time without datagrams that ends an attempt; handshakes come more often.
const TOGETHER: Duration = Duration::from_secs(10);
/// Least time until the next search; it doubles each time, up to the second value. The peer may get its new address at
/// any time of an outage, so with the two handshakes that may follow (each up to 5 s later) the longest pause ends
/// within the minute in which every fault must heal (R11 in `docs/promises.md`).
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(40);
/// Most other addresses that are tried beside the known one.
const PLACES: usize = 4;

/// State of the search for a peer.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Times when the first and the last unanswered datagram left.
    unanswered: Option<(Instant, Instant)>,
    /// Time of the next search, and the pause before it.
    next: Instant,
    pause: Option<Duration>,
    /// Addresses where it may be, beside the known one.
    places: Vec<HopAddress>,
}

impl Search {
    /// Records a datagram to the peer; returns true if a search is due now.
    pub(crate) fn sent(&mut self, now: Instant) -> bool {
        let first = match self.unanswered {
            Some((first, last)) if now.since(last) <= TOGETHER => first,
            Some(_) | None => now,
        };
        self.unanswered = Some((first, now));
        let is_due = now.since(first) >= PATIENCE && now >= self.next;
        if is_due {
            let pause = self.pause.unwrap_or(FIRST_PAUSE);
            self.next = now + pause;
            self.pause = Some((pause * 2).min(LONGEST_PAUSE));
        }
        is_due
    }

    /// Returns the time since the first datagram that was not answered.
    pub(crate) fn silent_for(&self, now: Instant) -> Duration {
        self.unanswered
            .map_or(Duration::ZERO, |(first, _)| now.since(first))
    }

    /// Ends the search.
    pub(crate) fn found(&mut self) {
        self.unanswered = None;
        self.pause = None;
        self.places.clear();
    }

    /// Adds an address where the peer may be; returns false if no search is on, or there are enough.
    pub(crate) fn add(&mut self, at: HopAddress) -> bool {
        let is_wanted = self.unanswered.is_some() && self.places.len() < PLACES;
        let is_added = is_wanted && !self.places.contains(&at);
        if is_added {
            self.places.push(at);
        }
        is_added
    }

    /// Returns the addresses to which handshakes and probes go too.
    pub(crate) fn places(&self) -> &[HopAddress] {
        &self.places
    }
}
