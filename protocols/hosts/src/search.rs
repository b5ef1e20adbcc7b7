//! Looking for a gateway that no longer answers where it was: its name may have another address by now.

use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::host::Host;
use crate::{Output, Role};

/// So long nothing has answered when it is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is sent later than this after the last time does not belong to the same attempt; handshakes come more often.
const TOGETHER: Duration = Duration::from_secs(10);
/// How long it takes at least until it is looked for again; twice as long each time, up to the second.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Other places that are tried beside the known one, at most.
const PLACES: usize = 4;

/// What is known of a peer that may not be where it was.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// When the first and the last datagram left that nothing has answered.
    unanswered: Option<(Instant, Instant)>,
    /// When it may be looked for again, and the pause before that.
    next: Instant,
    pause: Option<Duration>,
    /// Where it may be beside the known place.
    places: Vec<HopAddress>,
}

impl Search {
    /// A datagram leaves for the peer; true if it is to be looked for now.
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

    /// Something of the peer has come from there; true if that is one of the places that are tried.
    pub(crate) fn heard(&mut self, from: HopAddress) -> bool {
        let is_found = self.places.contains(&from);
        self.unanswered = None;
        self.pause = None;
        self.places.clear();
        is_found
    }

    /// Where handshakes and probes go too.
    pub(crate) fn places(&self) -> &[HopAddress] {
        &self.places
    }
}

impl Host {
    /// A datagram leaves for a peer. Of all hosts only a mobile one looks for another, its gateway.
    pub(crate) fn seek(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        let may_seek =
            self.role == Role::Mobile && matches!(peer.endpoint, Some(HopAddress::Udp(_)));
        if may_seek && peer.search.sent(now) {
            self.outputs.push_back(Output::Seek { peer: index });
        }
    }

    /// A peer may be at that place. What it sends from there tells, as it proves who it is; so handshakes and probes of
    /// the session go there too, and nothing else.
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
        // A mobile's peers are those that it begins handshakes with.
        let _ = self.endpoint.retry_now(now, id);
        self.follow_sessions(now, None);
    }
}
