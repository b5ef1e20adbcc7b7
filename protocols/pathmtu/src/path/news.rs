//! The handling of changes and reports of the path.

use units::{Duration, Instant};

use super::{Hints, PathMtu, Phase};
use crate::News;
use crate::ladder::fine;

/// Least time between two reports by the network that are used.
const HEARING_INTERVAL: Duration = Duration::from_secs(5);

impl PathMtu {
    pub(super) fn hear(&mut self, now: Instant, news: News) {
        match news {
            News::Moved => {
                self.hopes = Hints {
                    said: None,
                    beyond: None,
                    former: self.found.then_some(self.length),
                };
                self.air.fell = false;
                let start = self.config.start;
                self.restart(now, start);
            }
            News::Uncertain => {
                self.fails = None;
                self.air.fell = false;
                if self.found {
                    self.wanted = true;
                    self.doubt(now);
                }
            }
            News::Said(most) => self.said(now, most),
            News::Refused(length) => {
                let searched = match &self.phase {
                    Phase::Base | Phase::Complete { .. } => None,
                    Phase::Search(round) | Phase::Doubt(round) => Some(round.length),
                };
                if length <= self.length || searched.is_some_and(|searched| searched >= length) {
                    self.fails(now, length);
                }
            }
        }
    }

    /// Handles a hint about the maximum length: it is tried next, and if it is below the present length, the base is
    /// used meanwhile.
    fn said(&mut self, now: Instant, most: usize) {
        let is_early = now < self.air.pace.next_hearing;
        if most < self.base() || is_early || !self.is_news(most) {
            return;
        }
        self.air.pace.next_hearing = now + HEARING_INTERVAL;
        self.hopes.said = Some(most);
        self.hopes.beyond = Some(most + fine(most));
        if most >= self.length {
            self.search(now);
        } else {
            self.hopes.former = Some(self.length);
            self.wanted = true;
            let base = self.base();
            self.restart(now, base);
        }
    }

    /// Returns true if a reported limit adds information: it contradicts the present length, or the one that is
    /// tried.
    fn is_news(&self, most: usize) -> bool {
        let tried = match &self.phase {
            Phase::Base | Phase::Complete { .. } => None,
            Phase::Search(round) | Phase::Doubt(round) => Some(round.length),
        };
        most < self.length || tried.is_some_and(|tried| most < tried)
    }
}
