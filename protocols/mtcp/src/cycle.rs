//! The retransmission cycle (RC) and its echo (RCR): they show which losses a request can report.
//!
//! On a hop that keeps the order, a packet that arrives proves that all packets sent before it have arrived or are
//! lost. Every packet carries the cycle in which it was sent, and every acknowledgement the cycle of the last
//! arrival.

use crate::Profile;

/// Rule by which cycles are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// No cycles: a repair is repeated only after a timeout.
    Off,
    /// A cycle begins with each request that is followed; packets carry its low bit (the paper).
    Bit,
    /// Each packet is a cycle of its own (the wide profile).
    Each,
}

/// Cycle of the packets of a sender.
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

    /// Returns the current cycle.
    pub(crate) fn present(&self) -> u64 {
        self.present
    }

    /// Resumes at the cycle `present`.
    pub(crate) fn resume(&mut self, present: u64) {
        self.present = present;
    }

    /// Returns the cycle of the next packet.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.present += u64::from(self.counting == Counting::Each);
        self.present
    }

    /// Returns the cycle of the packet that caused an acknowledgement with this `reply`.
    pub(crate) fn heard(&self, reply: u16) -> u64 {
        let behind = (self.present as u16).wrapping_sub(reply);
        let behind = match self.counting {
            Counting::Off => 0,
            Counting::Bit => behind & 1,
            Counting::Each => behind,
        };
        self.present.saturating_sub(behind.into())
    }

    /// Returns the number of cycles that have begun since the one in `reply`.
    pub(crate) fn behind(&self, reply: u16) -> u64 {
        self.present - self.heard(reply)
    }

    /// Returns true if a request caused by a packet of the cycle `heard` is new: RCR equals PRC.
    pub(crate) fn follows(&self, heard: u64) -> bool {
        self.counting != Counting::Bit || heard == self.present
    }

    /// Returns true if a missing packet is known to be lost. It was sent last in the cycle `sent`; `resent` is set if
    /// it was sent again since the last timeout.
    pub(crate) fn is_lost(&self, sent: u64, resent: bool, heard: u64) -> bool {
        match self.counting {
            Counting::Off => !resent,
            Counting::Bit => true,
            Counting::Each => sent < heard,
        }
    }

    /// Begins a new cycle for a repair.
    pub(crate) fn begin(&mut self) {
        self.present += u64::from(self.counting == Counting::Bit);
    }

    /// Returns true if every packet has its own cycle, so that every answer gives a round-trip sample.
    pub(crate) fn numbers_packets(&self) -> bool {
        self.counting == Counting::Each
    }
}
