//! The retransmission cycle (RC) and its echo (RCR): which losses a request can know of.
//!
//! On a hop that keeps the order, a packet that arrives proves that all packets sent before it have arrived or are
//! lost. Every packet says in which cycle it was sent, and every acknowledgement the cycle of the last arrival.

use crate::Profile;

/// How cycles are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// Not at all: a repair is repeated only after a timeout.
    Off,
    /// A cycle begins with each request that is followed; packets carry its low bit (the paper).
    Bit,
    /// Each packet is a cycle of its own (the wide profile).
    Each,
}

/// The cycle of what a sender sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycle {
    counting: Counting,
    present: u64,
}

impl Cycle {
    pub(crate) fn new(enabled: bool, profile: Profile) -> Self {
        let counting = match (enabled, profile) {
            (false, _) => Counting::Off,
            (true, Profile::Paper) => Counting::Bit,
            (true, Profile::Wide) => Counting::Each,
        };
        Self {
            counting,
            present: 0,
        }
    }

    /// The cycle so far.
    pub(crate) fn present(&self) -> u64 {
        self.present
    }

    /// Goes on from the cycle `present`.
    pub(crate) fn resume(&mut self, present: u64) {
        self.present = present;
    }

    /// The cycle of the next packet.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.present += u64::from(self.counting == Counting::Each);
        self.present
    }

    /// The cycle of the packet that caused an acknowledgement with this `reply`.
    pub(crate) fn heard(&self, reply: u16) -> u64 {
        let behind = (self.present as u16).wrapping_sub(reply);
        let behind = match self.counting {
            Counting::Off => 0,
            Counting::Bit => behind & 1,
            Counting::Each => behind,
        };
        self.present.saturating_sub(behind.into())
    }

    /// How many cycles have begun since that one.
    pub(crate) fn behind(&self, reply: u16) -> u64 {
        self.present - self.heard(reply)
    }

    /// Whether a request that was caused by a packet of the cycle `heard` says anything new: RCR equals PRC.
    pub(crate) fn follows(&self, heard: u64) -> bool {
        self.counting != Counting::Bit || heard == self.present
    }

    /// Whether a packet that is missing, was sent last in the cycle `sent`, and was `resent` since the last timeout or
    /// not, is known to be lost.
    pub(crate) fn is_lost(&self, sent: u64, resent: bool, heard: u64) -> bool {
        match self.counting {
            Counting::Off => !resent,
            Counting::Bit => true,
            Counting::Each => sent < heard,
        }
    }

    /// A repair begins.
    pub(crate) fn begin(&mut self) {
        self.present += u64::from(self.counting == Counting::Bit);
    }

    /// Whether packets are told apart by their cycles, so that every answer gives a round trip.
    pub(crate) fn tells_packets(&self) -> bool {
        self.counting == Counting::Each
    }
}
