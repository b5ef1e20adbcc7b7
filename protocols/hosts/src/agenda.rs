//! The deadlines of peers, found without a look at each of them.

use association::Association;
use machine::{Deadlines, Machine, earlier};
use units::Instant;

use crate::host::round::Round;
use crate::peer::Peer;
use crate::peers::Peers;
use crate::site::Requests;

/// Number of peers whose deadlines are read from their associations each time.
const BUSY: usize = 4;

/// Deadlines of peers. Those of a busy peer move with every packet, so they are read from the few associations that
/// were active last; those of all others are kept in indices.
#[derive(Debug, Default)]
pub(crate) struct PeerDeadlines {
    /// Busy peers; the latest is the last.
    busy: Vec<usize>,
    /// Next timer of each association.
    acts: Deadlines<usize>,
    /// Times from which each may acknowledge, and wants to send, if the air is shared.
    acknowledges: Deadlines<usize>,
    wants: Deadlines<usize>,
    /// Time of the next try of each peer that cannot be reached.
    pub(crate) tries: Deadlines<usize>,
    /// Time of the next challenge to an address that each peer seems to have.
    pub(crate) challenges: Deadlines<usize>,
    /// Time of the answer that each peer has asked for.
    pub(crate) answers: Deadlines<usize>,
    /// Time when each peer that may know only the former key of this host is sent the present one again.
    pub(crate) vouches: Deadlines<usize>,
    /// Time of the next step of each peer's ways.
    pub(crate) ways: Deadlines<usize>,
    /// Time from which nothing is waited for any more before a mobile host goes on at another gateway.
    pub(crate) site: Deadlines<usize>,
    /// What this gateway asks of its mobile hosts while it is drained or overloaded.
    pub(crate) requests: Requests,
    /// The present round of those that act.
    pub(crate) round: Round,
}

impl PeerDeadlines {
    /// Returns the time of the next step for the site.
    pub(crate) fn site_due(&self) -> Option<Instant> {
        earlier(self.site.first(), self.requests.drain.due())
    }

    /// Records the deadlines of a peer that is not busy any more.
    fn note(&mut self, index: usize, peer: &Peer) {
        self.acts.set(index, peer.due(Machine::poll_timeout));
        let acknowledges = peer.due(Association::acknowledges_from);
        self.acknowledges.set(index, acknowledges);
        let wants = peer.due(Association::grant_wanted_from);
        self.wants.set(index, wants);
    }

    /// Marks a peer as busy. Every change of an association must be followed by this call.
    pub(crate) fn touch(&mut self, index: usize, peers: &Peers) {
        if self.busy.contains(&index) {
            return;
        }
        for deadlines in [&mut self.acts, &mut self.acknowledges, &mut self.wants] {
            deadlines.clear(index);
        }
        if self.busy.len() == BUSY {
            let quiet = self.busy.remove(0);
            self.note(quiet, &peers[quiet]);
        }
        self.busy.push(index);
    }

    /// Removes all deadlines of a peer.
    pub(crate) fn remove(&mut self, index: usize) {
        self.busy.retain(|busy| *busy != index);
        for deadlines in [
            &mut self.acts,
            &mut self.acknowledges,
            &mut self.wants,
            &mut self.tries,
            &mut self.challenges,
            &mut self.answers,
            &mut self.vouches,
            &mut self.ways,
            &mut self.site,
        ] {
            deadlines.clear(index);
        }
    }

    /// Returns the time when the first association acts.
    pub(crate) fn acts_at(&self, peers: &Peers) -> Option<Instant> {
        let busy = self.of_busy(peers, Machine::poll_timeout);
        let first = earlier(self.acts.first(), busy.min());
        let due = |(_, peer): (usize, &Peer)| peer.due(Machine::poll_timeout);
        debug_assert_eq!(
            first,
            peers.iter().filter_map(due).min(),
            "an association was changed and not touched"
        );
        first
    }

    /// Returns the time when the first peer may acknowledge.
    pub(crate) fn acknowledges_from(&self, peers: &Peers) -> Option<Instant> {
        let busy = self.of_busy(peers, Association::acknowledges_from);
        earlier(self.acknowledges.first(), busy.min())
    }

    /// Returns the time when the first peer wants to send, without those that do by `since`, if it is given.
    pub(crate) fn wants_from(&self, peers: &Peers, since: Option<Instant>) -> Option<Instant> {
        let busy = self.of_busy(peers, Association::grant_wanted_from);
        let busy = busy.filter(|from| since.is_none_or(|since| *from > since));
        let others = match since {
            Some(since) => self.wants.first_after(since),
            None => self.wants.first(),
        };
        earlier(others, busy.min())
    }

    /// Adds the peers whose associations act now to `acting`, in their order.
    pub(crate) fn acting(&self, now: Instant, peers: &Peers, acting: &mut Vec<usize>) {
        let acts = |index: &usize| {
            let due = peers[*index].due(Machine::poll_timeout);
            due.is_some_and(|due| due <= now)
        };
        let busy = self.busy.iter().copied().filter(acts);
        acting.extend(self.acts.due(now).chain(busy));
        acting.sort_unstable();
    }

    /// Returns the peers that may want something of a shared air now.
    pub(crate) fn wishing(&self, now: Instant) -> impl Iterator<Item = usize> + '_ {
        let due = self.acknowledges.due(now).chain(self.wants.due(now));
        due.chain(self.busy.iter().copied())
    }

    fn of_busy(
        &self,
        peers: &Peers,
        deadline: impl Fn(&Association) -> Option<Instant>,
    ) -> impl Iterator<Item = Instant> {
        let busy = self.busy.iter();
        busy.filter_map(move |index| peers[*index].due(&deadline))
    }
}
