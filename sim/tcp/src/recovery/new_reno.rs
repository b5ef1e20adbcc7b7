//! `NewReno`: a partial acknowledgement shows the next loss of the same window, one in each round trip.

use super::reno::Reno;
use super::{Evidence, Rule, Verdict};
use crate::Recovery;

#[derive(Debug)]
pub(super) struct NewReno;

impl Rule for NewReno {
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict {
        Reno.judge(settings, evidence)
    }
}
