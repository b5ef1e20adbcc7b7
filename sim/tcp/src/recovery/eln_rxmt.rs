//! ELN-RXMT: like ELN, but a marked segment is retransmitted at the first duplicate.

use super::eln::Eln;
use super::{Evidence, Rule, Verdict};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct ElnRxmt;

impl Rule for ElnRxmt {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        if evidence.marked && evidence.duplicates == settings.marked_duplicates {
            Verdict::Air
        } else {
            Eln.judge(settings, evidence)
        }
    }

    fn holds_on_partial(&self, settings: &Recovery) -> bool {
        settings.hold_on_partial
    }
}
