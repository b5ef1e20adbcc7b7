//! The search for a gateway that no longer answers at its address: its name may have another one by now.

use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::host::Host;
use crate::{Output, Role};

/// Time without an answer after which the peer is searched for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time without datagrams that ends an attempt; handshakes come more often.
const TOGETHER: Duration = Duration::from_secs(10);
/// Least time until the next search; it doubles each time, up to the second value.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
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
    fn sent(&mut self, now: Instant) -> bool {
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

    /// Records a datagram from the peer at this address, and ends the search; returns true if the address is one of
    /// those tried.
    pub(crate) fn heard(&mut self, from: HopAddress) -> bool {
        let is_found = self.places.contains(&from);
        self.unanswered = None;
        self.pause = None;
        self.places.clear();
        is_found
    }

    /// Returns the addresses to which handshakes and probes go too.
    pub(crate) fn places(&self) -> &[HopAddress] {
        &self.places
    }
}

impl Host {
    /// Records a datagram to a peer. Only a mobile host searches for a peer, its gateway.
    pub(crate) fn seek(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        let may_seek =
            self.role == Role::Mobile && matches!(peer.endpoint, Some(HopAddress::Udp(_)));
        if may_seek && peer.search.sent(now) {
            self.outputs.push_back(Output::Seek { peer: index });
        }
    }

    /// Adds an address where a peer may be. Only a datagram from there proves it; so handshakes and probes of the
    /// session go there too, and nothing else.
    pub(crate) fn found(&mut self, now: Instant, index: usize, at: HopAddress) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        let places = &mut peer.search.places;
        let is_news = peer.endpoint != Some(at) && !at.is_group() && !places.contains(&at);
        let is_sought = peer.search.unanswered.is_some() && self.role == Role::Mobile;
        if !is_news || !is_sought || places.len() == PLACES {
            return;
        }
        places.push(at);
        let id = peer.id;
        // A mobile host initiates the handshakes with its peers.
        let _ = self.endpoint.retry_now(now, id);
        self.follow_sessions(now, None);
    }
}
