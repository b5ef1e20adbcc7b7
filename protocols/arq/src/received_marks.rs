//! The congestion marks on received frames, and when to report them.

use wire::hop::EcnCounts;
use wire::ip::Ecn;

/// Number of first acknowledgements that all carry the counts, so that the other end soon knows if marks cross the
/// hop. Later one in this many carries them, so that the other end notices when marks no longer cross.
const ALWAYS: u64 = 16;
/// Number of acknowledgements that report a change, since some may get lost.
const TIMES: u8 = 4;

/// Counts of marks, and the state of their reports.
#[derive(Debug, Default)]
pub(crate) struct ReceivedMarks {
    counts: EcnCounts,
    /// Count of marks that has been reported.
    told: u64,
    /// Number of further acknowledgements that must report it.
    again: u8,
    acknowledgements: u64,
}

impl ReceivedMarks {
    /// Records a frame with this ECN field in its outer header.
    pub(crate) fn arrived(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::Capable0 => self.counts.capable += 1,
            Ecn::CongestionExperienced => self.counts.marked += 1,
            Ecn::NotCapable | Ecn::Capable1 => {}
        }
    }

    /// Returns the number of frames that arrived marked.
    pub(crate) fn marked(&self) -> u64 {
        self.counts.marked
    }

    /// Returns the counts that the next acknowledgement must report; `None` on hops that no mark crosses.
    pub(crate) fn to_tell(&self) -> Option<EcnCounts> {
        let news = self.counts.marked != self.told || self.again > 0;
        let usual = self.acknowledgements < ALWAYS || self.acknowledgements.is_multiple_of(ALWAYS);
        (self.counts.total() > 0 && (news || usual)).then_some(self.counts)
    }

    /// Records that an acknowledgement has been written, with [`to_tell`](Self::to_tell).
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
