//! Choice of the next segment.

use super::Sender;
use super::scoreboard::Missing;
use crate::clock::Clock;
use crate::recovery::Repairs;
use crate::span::Span;

/// A segment to be sent, in positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its first position.
    pub(crate) start: u64,
    /// Bytes of data.
    pub(crate) length: u64,
    /// True if it is the SYN.
    pub(crate) syn: bool,
    /// True if the FIN follows the data.
    pub(crate) fin: bool,
    /// True if it ends with the last byte written.
    pub(crate) last: bool,
    pub(super) kind: Kind,
}

/// Reason why a piece is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It continues the stream, for the first time or again.
    Onward,
    /// It is missing at the peer.
    Repair,
    /// It probes a closed window.
    Probe,
}

impl Piece {
    /// Returns the position after the piece.
    pub(super) fn end(&self) -> u64 {
        self.start + self.length + u64::from(self.syn) + u64::from(self.fin)
    }
}

impl Sender {
    /// Returns the next piece that may be sent now.
    pub(crate) fn choose(&mut self, clock: &Clock) -> Option<Piece> {
        if !self.is_open() {
            let syn = Piece {
                syn: true,
                ..self.piece(Span::new(0, 0), Kind::Onward)
            };
            return (self.flight.next == 0).then_some(syn);
        }
        if self.modern.is_some() {
            return self.choose_at_present(clock);
        }
        if std::mem::take(&mut self.probe)
            && let Some(piece) = self.window_probe()
        {
            return Some(piece);
        }
        self.repair().or_else(|| self.onward(clock))
    }

    /// Records that `piece` is sent.
    pub(crate) fn note_sent(&mut self, piece: &Piece, clock: &Clock) {
        let end = piece.end();
        let again = piece.start < self.flight.end && self.detection.episode.is_some();
        self.count(piece, end);
        if piece.start >= self.flight.end {
            self.timers.time(piece.start, clock);
        }
        let extends = end > self.flight.end && piece.kind == Kind::Repair;
        if extends || piece.kind == Kind::Onward {
            self.flight.next = self.flight.next.max(end);
        }
        if self.modern.is_some() {
            self.note_transmission(piece, clock);
        } else if (piece.kind == Kind::Repair || again) && self.detection.is_selective() {
            // Also after a closed window, which sends all of it again: it counts as in flight.
            let span = Span::new(piece.start, end);
            self.detection.scoreboard.repaired(span, clock.now());
        }
        self.flight.end = self.flight.end.max(end);
        if piece.kind == Kind::Probe {
            self.timers.start_persist(clock);
        } else {
            self.timers.ensure(clock);
        }
    }

    fn count(&mut self, piece: &Piece, end: u64) {
        if piece.length == 0 {
            return;
        }
        self.sent.data_segments += 1;
        self.sent.bytes += piece.length;
        self.sent.window_probes += u64::from(piece.kind == Kind::Probe);
        if piece.start < self.flight.end {
            self.sent.retransmitted_segments += 1;
            self.sent.retransmitted_bytes +=
                piece.length.min(self.flight.end.min(end) - piece.start);
        }
    }

    /// Returns the piece with the data of `span`, and the FIN if it follows them.
    pub(super) fn piece(&self, span: Span, kind: Kind) -> Piece {
        let last = span.end == self.stream.written;
        Piece {
            start: span.start,
            length: span.length(),
            syn: false,
            fin: last && self.stream.closed,
            last,
            kind,
        }
    }

    /// Returns a probe: one byte, or the part of a segment that the window takes, although it is too small to be sent
    /// otherwise.
    fn window_probe(&self) -> Option<Piece> {
        let start = self.flight.next;
        let window = (self.flight.unacknowledged + self.peer.size).saturating_sub(start);
        let size = window.clamp(1, self.segment);
        let end = self.available().min(start + size);
        let piece = self.piece(Span::new(start, end.max(start)), Kind::Probe);
        (end > start || piece.fin).then_some(piece)
    }

    /// Returns the next retransmission of a recovery.
    fn repair(&mut self) -> Option<Piece> {
        let urgent = std::mem::take(&mut self.detection.urgent);
        let episode = self.detection.episode?;
        let since = self.repaired_since();
        let asked = self.flight.unacknowledged;
        let span = match self.detection.repairs() {
            Repairs::Next => urgent.then(|| self.asked_for()),
            repairs => {
                let reduced = episode.reduced || repairs != Repairs::Marked;
                let missing = if reduced {
                    Missing::Gaps
                } else {
                    Missing::Marked
                };
                let scoreboard = &self.detection.scoreboard;
                let on_its_way = scoreboard.on_its_way(asked, self.flight.end, since);
                let room = urgent || on_its_way + self.segment <= self.window.size();
                let hole = || scoreboard.hole(missing, asked, self.segment, since);
                room.then(hole).flatten()
            }
        }?;
        let end = span.end.min(self.stream.written);
        let span = Span::new(span.start.min(end), end);
        Some(self.piece(span, Kind::Repair))
    }

    /// Returns the segment that the peer expects next.
    fn asked_for(&self) -> Span {
        let start = self.flight.unacknowledged;
        let arrived = self.detection.scoreboard.next_arrived(start);
        let end = (start + self.segment).min(self.flight.end);
        Span::new(start, arrived.map_or(end, |arrived| arrived.min(end)))
    }

    /// Returns the next segment of the stream, as far as the windows allow.
    pub(super) fn onward(&mut self, clock: &Clock) -> Option<Piece> {
        let again = self.flight.next < self.flight.end;
        if again {
            let next = self.detection.scoreboard.skip_arrived(self.flight.next);
            self.flight.next = next.min(self.flight.end);
        }
        let start = self.flight.next;
        let available = self.available();
        if start > self.stream.written || (start >= available && !self.fin_is_due(start)) {
            return None;
        }
        let idle = self.flight_size() == 0;
        let limit = self.window_end().min(available);
        let mut end = limit.min(start + self.segment);
        if again && let Some(arrived) = self.detection.scoreboard.next_arrived(start) {
            end = end.min(arrived);
        }
        let piece = self.piece(Span::new(start, end.max(start)), Kind::Onward);
        let sends = piece.length == self.segment
            || piece.fin
            || (piece.length > 0 && (again || self.may_be_small(&piece, available, idle)));
        // One segment fits even a window that restarts.
        if sends && idle && clock.now().since(self.peer.heard) > self.timers.timeout(clock) {
            self.window.restart_after_idle();
        }
        sends.then_some(piece)
    }

    /// Returns true if all data were sent and the FIN was not, or is to be sent again.
    fn fin_is_due(&self, start: u64) -> bool {
        self.stream.closed && start == self.stream.written
    }

    /// Returns true if a piece smaller than a segment may be sent: the last of the available data, or a large part of
    /// the largest window.
    fn may_be_small(&self, piece: &Piece, available: u64, idle: bool) -> bool {
        let last = piece.start + piece.length == available;
        (last && (idle || self.stream.no_delay)) || piece.length >= self.peer.largest.div_ceil(2)
    }

    /// Returns the end of the windows: the peer's, and the congestion window.
    fn window_end(&self) -> u64 {
        let flight = &self.flight;
        let detection = &self.detection;
        let allowed = if let Some(modern) = &self.modern {
            flight.next + modern.room()
        } else if detection.episode.is_some() && detection.is_selective() {
            let since = self.repaired_since();
            let scoreboard = &detection.scoreboard;
            let on_its_way = scoreboard.on_its_way(flight.unacknowledged, flight.end, since);
            flight.next + self.window.size().saturating_sub(on_its_way)
        } else {
            let probes = detection.probes * self.segment;
            flight.unacknowledged + self.window.size() + probes
        };
        allowed.min(flight.unacknowledged + self.peer.size)
    }
}
