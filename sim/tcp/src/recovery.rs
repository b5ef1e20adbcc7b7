//! Loss recovery: what shows a loss, whether it was congestion, and what is sent again. One rule a file.

mod eln;
mod eln_rxmt;
mod new_reno;
mod reno;
mod sack;
mod sack_eln;
mod sack_new;
mod smart;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::Recovery;

/// A way to recover from losses.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Fast retransmission and fast recovery (4.3BSD Reno).
    #[default]
    Reno,
    /// Reno that stays in recovery until all of its window has arrived.
    NewReno,
    /// Each acknowledgement names the segment that caused it; a gap is a loss.
    Smart,
    /// Selective acknowledgements (RFC 2018) on Reno.
    Sack,
    /// Explicit loss notification: losses on the air do not reduce the window.
    Eln,
    /// ELN that repairs at the first mark.
    ElnRxmt,
    /// SACK, with marks of several losses on the air.
    SackEln,
    /// SACK that sends new segments on the first duplicates; their arrival proves the loss.
    SackNew,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 8] = [
        Self::Reno,
        Self::NewReno,
        Self::Smart,
        Self::Sack,
        Self::Eln,
        Self::ElnRxmt,
        Self::SackEln,
        Self::SackNew,
    ];

    /// Whether it makes use of SACK blocks, and so permits the receiver to send them.
    pub(crate) fn reads_sack(self) -> bool {
        matches!(self, Self::Sack | Self::SackEln | Self::SackNew)
    }

    pub(crate) fn rule(self) -> &'static dyn Rule {
        match self {
            Self::Reno => &reno::Reno,
            Self::NewReno => &new_reno::NewReno,
            Self::Smart => &smart::Smart,
            Self::Sack => &sack::Sack,
            Self::Eln => &eln::Eln,
            Self::ElnRxmt => &eln_rxmt::ElnRxmt,
            Self::SackEln => &sack_eln::SackEln,
            Self::SackNew => &sack_new::SackNew,
        }
    }
}

/// What the acknowledgements so far show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Duplicates in a row.
    pub(crate) duplicates: u32,
    /// The segment that is asked for is marked as lost on the air.
    pub(crate) marked: bool,
    /// Something that was not repaired lately is missing before what has arrived.
    pub(crate) gap: bool,
    /// Of that, something is not marked as lost on the air.
    pub(crate) unmarked_gap: bool,
    /// Something is marked as lost on the air and was not repaired lately.
    pub(crate) marked_gap: bool,
    /// A segment arrived that was sent only because of duplicates.
    pub(crate) probe_arrived: bool,
}

/// What to make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet.
    Wait,
    /// Send a new segment, whose arrival will tell more.
    Probe,
    /// Something was lost, and that means congestion.
    Congestion,
    /// Something was lost on the air.
    Air,
}

/// What is sent again in a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repairs {
    /// The segment that the acknowledgement asks for. Each duplicate lets a new segment out.
    Next,
    /// What is missing before what has arrived, once a recovery, as the window has room.
    Gaps,
    /// The same, and again after a round trip.
    GapsAgain,
    /// What is marked as lost on the air, and again after a round trip; after a reduction, all gaps.
    Marked,
}

/// A policy's decisions. Everything else is the sender's.
pub(crate) trait Rule: Debug + Sync {
    /// What a duplicate acknowledgement, or one with news of what has arrived, means.
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict;

    /// What is sent again.
    fn repairs(&self) -> Repairs {
        Repairs::Next
    }

    /// Whether an acknowledgement of a part of what was sent before the loss keeps the recovery going, and shows
    /// the next loss.
    fn holds_on_partial(&self, _settings: &Recovery) -> bool {
        true
    }
}

/// The rule that all share: so many duplicates show a loss.
fn enough(settings: &Recovery, evidence: &Evidence) -> bool {
    evidence.duplicates == settings.duplicates
}
