//! SMART (Keshav, Morgan 1997): acknowledgements name the segment that caused them; on a path that does not
//! reorder, a gap is a loss at once. A segment is sent again at most once in a round trip; whether the
//! repair was lost is found out by no other means than that, or the timer.

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
