//! Detection of losses, and the current recovery.

use units::Instant;

use super::scoreboard::Scoreboard;
use crate::Recovery;
use crate::recovery::{Repairs, Rule};

/// Segments that duplicates may let out beyond the congestion window (RFC 3042).
const PROBES_MAX: u64 = 2;

/// A recovery from losses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Episode {
    /// End of the data sent before it began; their acknowledgement ends it.
    pub(super) point: u64,
    /// Congestion window at its end.
    pub(super) target: u64,
    /// True if the window was reduced.
    pub(super) reduced: bool,
    /// True if no information showed which segments had arrived (the peer has no selective acknowledgements): the
    /// recovery then works like `NewReno`.
    pub(super) blind: bool,
}

/// State of loss detection.
#[derive(Debug, Clone)]
pub(super) struct Detection {
    pub(super) settings: Recovery,
    pub(super) rule: &'static dyn Rule,
    pub(super) scoreboard: Scoreboard,
    /// Time of the last acknowledgement.
    pub(super) looked_at: Instant,
    /// Number of consecutive duplicates.
    pub(super) duplicates: u32,
    pub(super) episode: Option<Episode>,
    /// True if a retransmission is due whatever the window: the segment expected next, or the first hole.
    pub(super) urgent: bool,
    /// Number of segments beyond the congestion window that duplicates have let out.
    pub(super) probes: u64,
    /// Start of the first of them.
    pub(super) probed_from: u64,
    /// End of the data sent when the last recovery began, or the timer fired last.
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

    /// Returns the kind of retransmissions of the recovery.
    pub(super) fn repairs(&self) -> Repairs {
        let blind = self.episode.is_some_and(|episode| episode.blind);
        if blind {
            Repairs::Next
        } else {
            self.rule.repairs()
        }
    }

    /// Returns true if retransmissions follow from the scoreboard.
    pub(super) fn is_selective(&self) -> bool {
        self.repairs() != Repairs::Next
    }

    /// Handles a retransmission timeout; everything before `end` is sent again.
    pub(super) fn restart(&mut self, end: u64) {
        self.scoreboard.clear();
        self.last_point = end;
        self.episode = None;
        self.urgent = false;
        self.advanced();
    }

    /// Handles an acknowledgement of new data.
    pub(super) fn advanced(&mut self) {
        self.duplicates = 0;
        self.probes = 0;
        self.probed_from = u64::MAX;
    }

    /// Lets a new segment out, if few enough are out; the arrival of data from `end` on proves a loss.
    pub(super) fn probe(&mut self, end: u64) {
        if self.probes < PROBES_MAX && self.episode.is_none() {
            self.probes += 1;
            self.probed_from = self.probed_from.min(end);
        }
    }
}
