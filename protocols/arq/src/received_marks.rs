//! How the frames of the other end came marked, and when to tell it.

use wire::hop::EcnCounts;
use wire::ip::Ecn;

/// The first acknowledgements tell all of it, so that the other end soon knows whether marks cross the hop; and one in
/// so many later, so that it hears of it when they no longer do.
const ALWAYS: u64 = 16;
/// News is told by so many acknowledgements, some of which may get lost.
const TIMES: u8 = 4;

/// Counts of marks, and how far the other end has been told.
#[derive(Debug, Default)]
pub(crate) struct ReceivedMarks {
    counts: EcnCounts,
    /// The count of marks that has been told.
    told: u64,
    /// How many acknowledgements more are to tell it.
    again: u8,
    acknowledgements: u64,
}

impl ReceivedMarks {
    /// A frame has come with this field in its outer header.
    pub(crate) fn arrived(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::Capable0 => self.counts.capable += 1,
            Ecn::CongestionExperienced => self.counts.marked += 1,
            Ecn::NotCapable | Ecn::Capable1 => {}
        }
    }

    /// Frames that came marked.
    pub(crate) fn marked(&self) -> u64 {
        self.counts.marked
    }

    /// What the next acknowledgement is to tell. On hops that no mark crosses there is nothing to tell.
    pub(crate) fn to_tell(&self) -> Option<EcnCounts> {
        let news = self.counts.marked != self.told || self.again > 0;
        let usual = self.acknowledgements < ALWAYS || self.acknowledgements.is_multiple_of(ALWAYS);
        (self.counts.total() > 0 && (news || usual)).then_some(self.counts)
    }

    /// An acknowledgement has been written, with [`to_tell`](Self::to_tell).
    pub(crate) fn told(&mut self) {
        if self.counts.total() > 0 {
            self.acknowledgements += 1;
        }
        if self.counts.marked == self.told {
            self.again = self.again.saturating_sub(1);
        } else {
            self.told = self.counts.marked;
            self.again = TIMES - 1;
        }
    }
}
