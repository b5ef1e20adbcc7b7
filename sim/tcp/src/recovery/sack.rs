//! SACK as in the comparison: RFC 2018's blocks on Reno, no retransmission before three duplicates.

use super::{Evidence, Repairs, Rule, Verdict};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct Sack;

impl Rule for Sack {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        // Also after the third: an acknowledgement with data may bring the block that shows the gap.
        if evidence.duplicates >= settings.duplicates {
            Verdict::Congestion
        } else {
            Verdict::Wait
        }
    }

    fn repairs(&self) -> Repairs {
        Repairs::Gaps
    }
}
