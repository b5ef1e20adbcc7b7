//! Rounds, in which packets of peers whose packets are limited reach the wired network.
//!
//! Each such packet takes far more of the processor than its bytes on the hop. A driver serves its ports in turn, so
//! what all peers release between two of its looks at them is limited, however many peers there are and however slow
//! the processor is: what is left of its time goes to those that release more than the others.

use machine::Machine;
use units::Instant;

use super::Host;

/// Packets after which a round is over: as many as a batch of datagrams brings, if each holds one.
const PACKETS: usize = 64;

/// The present round: what a driver tells the host at one instant, a deadline or a batch of datagrams.
#[derive(Debug, Default)]
pub(crate) struct Round {
    began: Instant,
    packets: usize,
    /// Index of the peer that comes first in the next round.
    first: usize,
    /// Those that act; kept for its storage.
    acting: Vec<usize>,
}

impl Round {
    /// Begins the next round if time has passed.
    fn pass(&mut self, now: Instant) {
        if self.began < now {
            self.began = now;
            self.packets = 0;
        }
    }

    /// Counts a packet of a peer.
    pub(crate) fn count(&mut self, index: usize) {
        self.packets += 1;
        if self.packets == PACKETS {
            self.first = index + 1;
        }
    }

    /// Puts the peer first that comes after the one with which the last full round was over.
    fn order(&self, peers: &mut [usize]) {
        peers.rotate_left(peers.partition_point(|index| *index < self.first));
    }
}

impl Host {
    /// Acts on the deadlines of associations.
    pub(super) fn act(&mut self, now: Instant) {
        let mut acting = std::mem::take(&mut self.agenda.round.acting);
        self.agenda.acting(now, &self.peers, &mut acting);
        self.agenda.round.order(&mut acting);
        for index in acting.drain(..) {
            self.limit_release(now, index);
            if let Some(association) = &mut self.peers[index].association {
                association.handle_timeout(now);
            }
            self.forward(now, index);
        }
        self.agenda.round.acting = acting;
    }

    /// Lets a peer release only a few packets if the round is over and its packets are limited: enough for one that
    /// sends little, whatever the others do.
    pub(super) fn limit_release(&mut self, now: Instant, index: usize) {
        self.agenda.round.pass(now);
        if self.agenda.round.packets >= PACKETS
            && let Some(association) = &mut self.peers[index].association
        {
            association.shorten_turn(now);
        }
    }
}
