//! Turns of the peers on an air that they share.

use air::Grant;
use association::{Association, Input as Associated};
use machine::Machine;
use units::{BitRate, Bytes, Instant};

use super::Host;
use crate::sharing::Sharing;

impl Host {
    /// Gives turns while the air is free and wanted.
    pub(crate) fn share(&mut self, now: Instant) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        sharing.at = now;
        let mut changed = std::mem::take(&mut sharing.changed);
        changed.sort_unstable();
        changed.dedup();
        for index in &changed {
            if !self.turn_is_next(now) {
                self.acknowledge(now, *index);
            }
            self.learn(now, *index);
        }
        while let Some((turn, rate)) = self.next_turn(now) {
            let index = turn.destination;
            if turn.elsewhere > Bytes::ZERO {
                self.tell(now, index, Associated::Elsewhere(turn.elsewhere));
            }
            let free = Associated::AirFree(Grant {
                bytes: turn.bytes,
                rate: self.known_rate(),
                was_idle: turn.was_idle,
            });
            let sent = self.grant(now, index, free, rate);
            let (Some(sharing), Some(peer)) = (&mut self.sharing, self.peers.get(index)) else {
                break;
            };
            sharing.before_turn = rate.time_for(sent);
            if sent == Bytes::ZERO {
                let queued = peer.queued();
                sharing.air.waits(now, index, queued, false);
            }
        }
        // Those that have waited for a turn, if there was none.
        for index in &changed {
            self.acknowledge(now, *index);
        }
        if let Some(sharing) = &mut self.sharing {
            changed.clear();
            sharing.changed = changed;
        }
    }

    /// Updates the air with the changes of a peer.
    fn learn(&mut self, now: Instant, index: usize) {
        let (Some(sharing), Some(peer)) = (&mut self.sharing, self.peers.get(index)) else {
            return;
        };
        let Some(association) = &peer.association else {
            return sharing.air.waits(now, index, Bytes::ZERO, false);
        };
        if association.air().learned_at() == Some(now) {
            sharing.air.learned(now, index, association.air());
        }
        let (queued, wanted) = (association.queued(), association.wants_grant(now));
        sharing.air.waits(now, index, queued, wanted);
    }

    /// Returns the rate at which to send now. Before any peer has measured a rate, it is the lowest guess of all:
    /// that of the peer that has sent most in vain.
    fn shared_rate(&self) -> Option<BitRate> {
        let measured = self.sharing.as_ref()?.air.measured();
        let guesses = self.peers.iter().filter_map(|(_, peer)| {
            let association = peer.association.as_ref()?;
            Some(association.air().pace())
        });
        measured
            .map(|measured| measured.pace)
            .or_else(|| guesses.min())
    }

    /// Returns the rate of the air, if it is more than a guess.
    fn known_rate(&self) -> Option<BitRate> {
        let measured = self.sharing.as_ref()?.air.measured()?;
        measured.is_settled.then_some(measured.rate)
    }

    fn next_turn(&mut self, now: Instant) -> Option<(air::Turn, BitRate)> {
        let rate = self.shared_rate()?;
        let turn = self.sharing.as_mut()?.air.turn(now, rate)?;
        Some((turn, rate))
    }

    /// Returns true if acknowledgements alone have used the air for long enough, and a peer waits for a turn.
    fn turn_is_next(&self, now: Instant) -> bool {
        let is_used_up = |sharing: &Sharing| sharing.before_turn.is_zero();
        self.sharing.as_ref().is_some_and(is_used_up)
            && self
                .agenda
                .wants_from(&self.peers, None)
                .is_some_and(|from| from <= now)
    }

    /// Grants a peer an acknowledgement, if that is due.
    fn acknowledge(&mut self, now: Instant, index: usize) {
        let peer = self.peers.get(index);
        let due = peer.and_then(|peer| peer.due(Association::acknowledges_from));
        let sharing = self.sharing.as_ref();
        let free = sharing.is_some_and(|sharing| sharing.air.free_at() <= now);
        if free
            && due.is_some_and(|due| due <= now)
            && let Some(rate) = self.shared_rate()
        {
            let sent = self.grant(now, index, Associated::AcknowledgementFree, rate);
            if let Some(sharing) = &mut self.sharing {
                let took = rate.time_for(sent);
                sharing.before_turn = sharing.before_turn.saturating_sub(took);
            }
        }
    }

    /// Grants a peer the air; returns the bytes that it sent.
    fn grant(&mut self, now: Instant, index: usize, grant: Associated, rate: BitRate) -> Bytes {
        let sent = self.tell(now, index, grant);
        if let Some(sharing) = &mut self.sharing {
            sharing.air.spent(now, index, sent, rate);
        }
        self.learn(now, index);
        sent
    }

    fn tell(&mut self, now: Instant, index: usize, input: Associated) -> Bytes {
        let peer = self.peers.get_mut(index);
        if let Some(association) = peer.and_then(|peer| peer.association.as_mut()) {
            association.handle_input(now, input);
        }
        self.forward(now, index)
    }

    /// Returns the time of the next turn.
    pub(crate) fn next_share(&self) -> Option<Instant> {
        let sharing = self.sharing.as_ref()?;
        let turn_at = sharing.air.turn_at();
        let acknowledges = self.agenda.acknowledges_from(&self.peers);
        let acknowledges = acknowledges.map(|at| at.max(sharing.air.free_at()));
        let wants = match turn_at {
            Some(turn_at) => self
                .agenda
                .wants_from(&self.peers, None)
                .map(|from| from.max(turn_at)),
            // A peer that wants it now and got no turn gets none before something changes.
            None => self.agenda.wants_from(&self.peers, Some(sharing.at)),
        };
        let wanted = machine::earlier(acknowledges, wants);
        machine::earlier(sharing.air.poll_timeout(), wanted)
    }
}
