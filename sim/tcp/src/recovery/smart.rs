//! SMART (Keshav, Morgan 1997): acknowledgements name the segment that caused them; on a path that does not reorder, a
//! gap is a loss at once. A segment is retransmitted at most once in a round trip; only a gap after that time, or the
//! timer, shows that the retransmission was lost.

use super::{Evidence, Repairs, Rule, Verdict};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct Smart;

impl Rule for Smart {
    fn judge(&self, _settings: &Recovery, evidence: &Evidence) -> Verdict {
        if evidence.gap {
            Verdict::Congestion
        } else {
            Verdict::Wait
        }
    }

    fn repairs(&self) -> Repairs {
        Repairs::GapsAgain
    }
}
