//! SACK for small windows: each of the first duplicates lets a new segment out (later RFC 3042), and a block that shows
//! the arrival of such a segment proves the loss, whatever the number of duplicates.

use super::sack::Sack;
use super::{Evidence, Repairs, Rule, Verdict};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct SackNew;

impl Rule for SackNew {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        if evidence.probe_arrived {
            return Verdict::Congestion;
        }
        match Sack.judge(settings, evidence) {
            Verdict::Wait if evidence.duplicates > 0 => Verdict::Probe,
            verdict => verdict,
        }
    }

    fn repairs(&self) -> Repairs {
        Repairs::Gaps
    }
}
