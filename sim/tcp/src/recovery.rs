//! Loss recovery: the evidence of a loss, the decision whether it was congestion, and the choice of retransmissions.
//! One policy per file.

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

/// Loss recovery algorithm.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Fast retransmission and fast recovery (4.3BSD Reno).
    #[default]
    Reno,
    /// Reno that stays in recovery until its whole window has arrived.
    NewReno,
    /// Each acknowledgement names the segment that caused it; a gap is a loss.
    Smart,
    /// Selective acknowledgements (RFC 2018) on Reno.
    Sack,
    /// Explicit loss notification: losses on the air do not reduce the window.
    Eln,
    /// ELN that retransmits at the first mark.
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

    /// Returns true if it uses SACK blocks, and so permits the receiver to send them.
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

/// Evidence from the acknowledgements so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Number of consecutive duplicates.
    pub(crate) duplicates: u32,
    /// True if the segment expected next is marked as lost on the air.
    pub(crate) marked: bool,
    /// True if data are missing before data that have arrived, and were not retransmitted recently.
    pub(crate) gap: bool,
    /// True if a part of these is not marked as lost on the air.
    pub(crate) unmarked_gap: bool,
    /// True if data are marked as lost on the air, and were not retransmitted recently.
    pub(crate) marked_gap: bool,
    /// True if a segment has arrived that was sent only because of duplicates.
    pub(crate) probe_arrived: bool,
}

/// Decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Wait for more evidence.
    Wait,
    /// Send a new segment, whose arrival gives more evidence.
    Probe,
    /// A loss that means congestion.
    Congestion,
    /// A loss on the air.
    Air,
}

/// Retransmissions in a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repairs {
    /// The segment that the acknowledgement expects next. Each duplicate lets one new segment out.
    Next,
    /// Gaps before data that have arrived, once in a recovery, as the window has room.
    Gaps,
    /// Gaps before data that have arrived, and again after a round trip.
    GapsAgain,
    /// The ranges marked as lost on the air, and again after a round trip; after a reduction, all gaps.
    Marked,
}

/// The decisions of a policy. Everything else belongs to the sender.
pub(crate) trait Rule: Debug + Sync {
    /// Returns the decision for a duplicate acknowledgement, or for one that reports new arrivals.
    fn judge(&self, settings: &Recovery, evidence: &Evidence) -> Verdict;

    /// Returns the kind of retransmissions.
    fn repairs(&self) -> Repairs {
        Repairs::Next
    }

    /// Returns true if a partial acknowledgement keeps the recovery going, and shows the next loss.
    fn holds_on_partial(&self, _settings: &Recovery) -> bool {
        true
    }
}

/// Returns true if the number of duplicates shows a loss, by the common rule.
fn enough(settings: &Recovery, evidence: &Evidence) -> bool {
    evidence.duplicates == settings.duplicates
}
