//! The search for a gateway that no longer answers at its address: its name may have another one by now.

use std::net::SocketAddr;

use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::places::{PlaceState, Places};
use crate::ways::Ways;

/// Time without an answer after which the peer is searched for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where there is less hope at that address: this host has no keys, its datagrams cannot leave, or the port is
/// refused. A gateway that restarts is back in that time.
const PATIENCE_IN_TROUBLE: Duration = Duration::from_millis(900);
/// Time without datagrams that ends an attempt; handshakes come more often.
const TOGETHER: Duration = Duration::from_secs(10);
/// Least time until the next search; it doubles each time, up to the second value. The peer may get its new address at
/// any time of an outage, so with the two handshakes that may follow (each up to 5 s later) the longest pause ends
/// within the minute in which every fault must heal (R11 in `docs/promises.md`).
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(40);
/// Most other addresses that are tried beside the known one.
pub(crate) const PLACES: usize = 8;

/// What speaks against the address of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Silence alone.
    Silence,
    /// There are no keys, datagrams cannot leave, or the port is refused.
    Trouble,
    /// The peer has said goodbye: another process takes its place, perhaps on another machine.
    Goodbye,
}

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
    /// What is known of addresses that are not in use.
    pub(crate) others: Places,
    /// Its ways, if there are several.
    pub(crate) ways: Option<Box<Ways>>,
}

impl Search {
    /// Returns no search, for a peer with this address and this port for TLS.
    pub(crate) fn new(endpoint: Option<HopAddress>, tls_port: Option<u16>) -> Self {
        let ways = match (endpoint, tls_port) {
            (Some(HopAddress::Udp(at)), Some(port)) => Some(Box::new(Ways::new(port, at))),
            _ => None,
        };
        Self {
            ways,
            ..Self::default()
        }
    }

    /// Records a datagram to the peer; returns true if a search is due now.
    pub(crate) fn sent(&mut self, now: Instant, doubt: Doubt) -> bool {
        let patience = match doubt {
            Doubt::Silence => PATIENCE,
            Doubt::Trouble => PATIENCE_IN_TROUBLE,
            Doubt::Goodbye => Duration::ZERO,
        };
        let first = match self.unanswered {
            Some((first, last)) if now.since(last) <= TOGETHER => first,
            Some(_) | None => now,
        };
        self.unanswered = Some((first, now));
        let is_due = now.since(first) >= patience && now >= self.next;
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

    /// Ends the search: the peer is at this address.
    pub(crate) fn found(&mut self, at: HopAddress) {
        self.unanswered = None;
        self.pause = None;
        if self.places.contains(&at) {
            // The search was not in vain: the next one, if there is one, does not wait for it.
            self.next = Instant::ZERO;
        }
        self.places.clear();
        self.others.found(at);
    }

    /// Records that this host's network has changed: the next search need not wait for long.
    pub(crate) fn network_changed(&mut self, now: Instant) {
        self.next = self.next.min(now);
        self.pause = None;
    }

    /// Adds an address where the peer may be; returns false if no search is on, or there are enough.
    pub(crate) fn add(&mut self, now: Instant, at: HopAddress) -> bool {
        let is_wanted = self.unanswered.is_some() && self.places.len() < PLACES;
        let is_added = is_wanted && !self.places.contains(&at);
        if is_added {
            self.places.push(at);
            self.others.note(now, at, PlaceState::Asked);
        }
        is_added
    }

    /// Returns the addresses to which handshakes and probes go too.
    pub(crate) fn places(&self, now: Instant) -> impl Iterator<Item = HopAddress> {
        let is_in_doubt = |ways: &&Ways| ways.is_in_doubt(now);
        let ways = self.ways.as_deref().filter(is_in_doubt);
        let others = ways.map(|_| self.other_ways(now)).unwrap_or_default();
        self.places.iter().copied().chain(others)
    }

    /// Returns the addresses of the ways that are not in use: by TLS at all places, or by UDP.
    pub(crate) fn other_ways(&self, now: Instant) -> Vec<HopAddress> {
        let Some(ways) = &self.ways else {
            return Vec::new();
        };
        let of_places = self.places.iter().filter_map(|place| match place {
            HopAddress::Udp(at) => Some(ways.tls(*at)),
            HopAddress::Tls(_) | HopAddress::Ethernet(_) | HopAddress::Relay(_) => None,
        });
        let first = if ways.uses_udp() {
            ways.tls(ways.udp)
        } else {
            ways.udp()
        };
        let mut others = vec![first];
        if ways.uses_udp() || ways.is_in_doubt(now) {
            others.extend(of_places.filter(|other| *other != first));
        }
        others
    }

    /// Returns the address by UDP of a gateway at this address.
    pub(crate) fn udp_of(&self, at: HopAddress) -> Option<SocketAddr> {
        let tls = match at {
            HopAddress::Udp(at) => return Some(at),
            HopAddress::Tls(at) => at,
            HopAddress::Ethernet(_) | HopAddress::Relay(_) => return None,
        };
        let known = self.ways.as_ref().map(|ways| ways.udp)?;
        let places = self.places.iter().filter_map(|place| match place {
            HopAddress::Udp(at) => Some(*at),
            HopAddress::Tls(_) | HopAddress::Ethernet(_) | HopAddress::Relay(_) => None,
        });
        let mut all = std::iter::once(known).chain(places);
        let is_there = |udp: &SocketAddr| udp.ip() == tls.ip();
        all.find(is_there)
            .or(Some(SocketAddr::new(tls.ip(), known.port())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time until a peer is searched for whose address is refused.
    fn wait(search: &mut Search, from: Instant) -> Duration {
        let mut now = from;
        while !search.sent(now, Doubt::Trouble) {
            now += Duration::from_millis(100);
        }
        now.since(from)
    }

    #[test]
    fn a_search_that_has_found_the_peer_does_not_delay_the_next_one() {
        let [here, there] = ["203.0.113.1:1", "203.0.113.2:1"].map(|at| at.parse().unwrap());
        let mut search = Search::new(Some(here), None);
        let begin = Instant::ZERO + Duration::from_secs(1);
        assert_eq!(wait(&mut search, begin), PATIENCE_IN_TROUBLE);
        assert!(search.add(begin, there));
        search.found(there);
        let later = begin + Duration::from_secs(2);
        assert_eq!(wait(&mut search, later), PATIENCE_IN_TROUBLE);
        // The peer is back where it was: whoever answers seldom is not searched for each time.
        search.found(there);
        let end = begin + Duration::from_secs(4);
        assert!(wait(&mut search, end) > PATIENCE_IN_TROUBLE);
    }
}
