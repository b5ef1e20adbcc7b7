//! ELN: like Reno, but a segment that is marked as lost on the air is retransmitted without reducing the window.

use super::{Evidence, Rule, Verdict, enough};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct Eln;

impl Rule for Eln {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        match (enough(settings, evidence), evidence.marked) {
            (true, true) => Verdict::Air,
            (true, false) => Verdict::Congestion,
            (false, _) => Verdict::Wait,
        }
    }

    fn holds_on_partial(&self, settings: &Recovery) -> bool {
        settings.hold_on_partial
    }
}
