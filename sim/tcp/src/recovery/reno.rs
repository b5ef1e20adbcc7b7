//! Reno: three duplicates show a lost segment, which means congestion.

use super::{Evidence, Rule, Verdict, enough};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct Reno;

impl Rule for Reno {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        if enough(settings, evidence) {
            Verdict::Congestion
        } else {
            Verdict::Wait
        }
    }

    /// Returns false: the first new acknowledgement ends the recovery. A second loss in the window needs three
    /// duplicates of its own, and halves the window again, or waits for the timer.
    fn holds_on_partial(&self, _settings: &Recovery) -> bool {
        false
    }
}
