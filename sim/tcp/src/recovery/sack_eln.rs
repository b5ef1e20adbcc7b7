//! SACK with ELN: marks name several losses on the air, which are all retransmitted at once and without reducing the
//! window; an unmarked gap is congestion, after three duplicates.

use super::{Evidence, Repairs, Rule, Verdict};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct SackEln;

impl Rule for SackEln {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        if evidence.unmarked_gap && evidence.duplicates >= settings.duplicates {
            Verdict::Congestion
        } else if evidence.marked_gap && evidence.duplicates >= settings.marked_duplicates {
            Verdict::Air
        } else {
            Verdict::Wait
        }
    }

    fn repairs(&self) -> Repairs {
        Repairs::Marked
    }
}
