//! The probes of the path: frames that carry no data.

use units::Instant;

use super::{Arq, frame_writer};
use crate::ledger::Content;
use crate::path::{Path, PathNews, PathProbe};

/// Length of a short frame, in bytes: its header and a probe.
const SHORT: usize = 16;

impl Arq {
    /// Returns the state of the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes that each frame costs on the wire beyond its own.
    pub fn overhead(&self) -> usize {
        self.config.overhead
    }

    /// Notes that longer frames would be useful, and starts a measurement of the round trip, which the search for
    /// them needs.
    pub fn want_longer_frames(&mut self, now: Instant) {
        self.path.wanted(now);
        if self.round_trip.measured().is_none() {
            self.path.silent(now);
        }
    }

    /// Returns the time from which the search for longer frames wants air, which may be past.
    pub(super) fn probes_from(&self) -> Option<Instant> {
        self.path.air_wanted_from().filter(|_| self.has_room())
    }

    /// Returns true if the search wants air now.
    pub(super) fn probes(&self, now: Instant) -> bool {
        self.probes_from().is_some_and(|from| from <= now)
    }

    /// Sends the probe that is due; returns its bytes on the wire.
    pub(super) fn send_probe(&mut self, now: Instant) -> usize {
        match self.path.due(now) {
            None => 0,
            Some(PathProbe::Short) => self.send_short(now, false),
            Some(PathProbe::Probe(length)) => {
                let number = self.ledger.next_number();
                let mut frame = frame_writer(number, length.max(SHORT));
                frame.probe();
                frame.pad();
                self.ledger.carry(Content::Padding);
                let bytes = self.send_off(now, frame.finish(), 1, false);
                let behind = self.send_short(now, true);
                self.path.sent(now, number);
                bytes + behind
            }
        }
    }

    fn send_short(&mut self, now: Instant, after_long: bool) -> usize {
        let mut frame = frame_writer(self.ledger.next_number(), SHORT);
        if after_long {
            frame.probe_after_long();
        } else {
            frame.probe();
        }
        // A probe on its own requests an acknowledgement, as the first sign that the hop works again.
        self.send_off(now, frame.finish(), 0, !after_long)
    }

    pub(super) fn path_news(&mut self, now: Instant, news: PathNews) {
        if let PathNews::Moved(around) = news
            && let Some(search) = &mut self.config.path
        {
            self.config.overhead = self.config.overhead + around - search.around;
            search.around = around;
            // What the fade's probes found was another path.
            self.pace.due.probe = Instant::ZERO;
        }
        self.path.news(now, news);
    }
}
