//! Reno: three duplicates are a lost segment, and that is congestion.

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

    /// The first new acknowledgement ends the recovery; a second loss in the window needs three duplicates of its own,
    /// and halves the window again, or waits for the timer.
    fn holds_on_partial(&self, _settings: &Recovery) -> bool {
        false
    }
}
