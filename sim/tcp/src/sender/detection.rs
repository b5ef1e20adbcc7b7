//! What shows losses, and the recovery that is going on.

use units::Instant;

use super::scoreboard::Scoreboard;
use crate::Recovery;
use crate::recovery::{Repairs, Rule};

/// Segments that duplicates may let out beyond the congestion window (RFC 3042).
const PROBES_MAX: u64 = 2;

/// A recovery from losses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Episode {
    /// The end of what had been sent when it began: its acknowledgement ends it.
    pub(super) point: u64,
    /// The congestion window afterwards.
    pub(super) target: u64,
    /// The window was reduced.
    pub(super) reduced: bool,
    /// Nothing told which segments had arrived (the other end has no selective acknowledgements): all goes as
    /// in `NewReno`.
    pub(super) blind: bool,
}

/// The state of loss detection.
#[derive(Debug, Clone)]
pub(super) struct Detection {
    pub(super) settings: Recovery,
    pub(super) rule: &'static dyn Rule,
    pub(super) scoreboard: Scoreboard,
    /// When the last acknowledgement came.
    pub(super) looked_at: Instant,
    /// Duplicates in a row.
    pub(super) duplicates: u32,
    pub(super) episode: Option<Episode>,
    /// Something is to be sent again whatever the window says: the segment that is asked for, or the first hole.
    pub(super) urgent: bool,
    /// Segments beyond the congestion window that duplicates have let out.
    pub(super) probes: u64,
    /// Where the first of them starts.
    pub(super) probed_from: u64,
    /// The end of what had been sent when the last recovery began, or the timer went off last.
    pub(super) last_point: u64,
}

impl Detection {
    pub(super) fn new(settings: &Recovery) -> Self {
        Self {
            settings: settings.clone(),
            rule: settings.policy.rule(),
            scoreboard: Scoreboard::default(),
            looked_at: Instant::ZERO,
            duplicates: 0,
            episode: None,
            urgent: false,
            probes: 0,
            probed_from: u64::MAX,
            last_point: 0,
        }
    }

    /// What the recovery sends again.
    pub(super) fn repairs(&self) -> Repairs {
        let blind = self.episode.is_some_and(|episode| episode.blind);
        if blind {
            Repairs::Next
        } else {
            self.rule.repairs()
        }
    }

    /// Whether what is sent again follows from the scoreboard.
    pub(super) fn is_selective(&self) -> bool {
        self.repairs() != Repairs::Next
    }

    /// The timer went off; everything before `end` is sent again.
    pub(super) fn restart(&mut self, end: u64) {
        self.scoreboard.clear();
        self.last_point = end;
        self.episode = None;
        self.urgent = false;
        self.advanced();
    }

    /// Something new was acknowledged.
    pub(super) fn advanced(&mut self) {
        self.duplicates = 0;
        self.probes = 0;
        self.probed_from = u64::MAX;
    }

    /// Lets a new segment out, if not enough are out already; what is sent from `end` on proves a loss by its arrival.
    pub(super) fn probe(&mut self, end: u64) {
        if self.probes < PROBES_MAX && self.episode.is_none() {
            self.probes += 1;
            self.probed_from = self.probed_from.min(end);
        }
    }
}
