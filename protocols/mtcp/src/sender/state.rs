//! The conversion of a sender to its serializable state, and back.

use redirector::Content;
use units::Instant;

use super::{Peer, Sender};
use crate::Config;
use crate::state::{ConnectionState, Sending};

impl<C: Content + Clone> Sender<C> {
    /// Takes the sender out as its state; it is of no use afterwards.
    pub(crate) fn suspend(&mut self) -> Sending<C> {
        Sending {
            first: self.numbers.first(),
            // The SYN is acknowledged by whatever comes next.
            acknowledged: self.flight.acknowledged().max(1),
            flight: self.flight.suspend(),
            unsent: std::mem::take(&mut self.unsent),
            ending: self.ending,
            edge: self.peer.edge,
            window: self.peer.window,
            shift: self.peer.shift,
            cycle: self.cycle.present(),
            round_trip: self.clock.round_trip.estimate(),
        }
    }

    /// Resumes the sender of `state`, which was checked.
    pub(crate) fn resume(config: &Config, state: &mut ConnectionState<C>, now: Instant) -> Self {
        let profile = state.profile;
        let sending = &mut state.sending;
        let mut sender = Self::new(config, sending.first, profile);
        sender.flight.resume(sending);
        sender.next = sender.flight.end();
        sender.unsent = std::mem::take(&mut sending.unsent);
        sender.ending = sending.ending;
        sender.peer = Peer {
            every: sender.peer.every,
            edge: sending.edge,
            shift: sending.shift,
            segment: (usize::from(state.packet) - profile.header_length()) as u64,
            window: sending.window,
            most: profile.buffer_max(),
        };
        sender.cycle.resume(sending.cycle);
        sender.clock.round_trip.resume(sending.round_trip);
        if !sender.flight.is_empty() {
            // Who takes a connection over does not get what was on its way, nor may the other end.
            sender.repair_all();
            sender.restart_clock(now);
        }
        sender
    }
}
