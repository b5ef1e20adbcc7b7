//! The steps of `acknowledge.rs` and `choose.rs` for a sender with present-day congestion control, over
//! [`RackSender`](super::modern::RackSender).

use units::{Duration, Instant};

use super::choose::{Kind, Piece};
use super::modern::{BLOCKS, Report};
use super::{Acknowledgment, Sender};
use crate::clock::Clock;
use crate::span::Span;

impl Sender {
    /// Processes an acknowledgement. Returns true if it is a duplicate.
    pub(super) fn acknowledge_at_present(
        &mut self,
        ack: &Acknowledgment<'_>,
        clock: &Clock,
    ) -> bool {
        let before = self.flight.unacknowledged;
        let same_window = self.peer.size == ack.window;
        let repeats = ack.position == before && self.flight_size() > 0;
        self.update_window(ack);
        let mut blocks = [None; BLOCKS];
        if ack.position > before {
            self.timers.acknowledged(ack.position, ack.echo, clock);
            self.advance(ack.position, clock);
        }
        for (block, range) in blocks.iter_mut().zip(ack.options.sack.iter()) {
            *block = self.span_beyond(range);
        }
        let report = Report {
            now: clock.now(),
            before,
            position: ack.position,
            end: self.flight.end,
            blocks,
            echo: ack.echo,
            smoothed: self.smoothed(),
        };
        if let Some(modern) = &mut self.modern {
            let recovering = modern.is_recovering();
            modern.acknowledge(&report);
            let begins = !recovering && modern.is_recovering();
            self.recovered.fast_retransmissions += u64::from(begins);
        }
        repeats && !ack.occupies && same_window
    }

    /// Returns the smoothed round trip; zero before there is one.
    fn smoothed(&self) -> Duration {
        self.timers.round_trip().smoothed().unwrap_or_default()
    }

    /// Returns the next piece that may be sent now.
    pub(super) fn choose_at_present(&mut self, clock: &Clock) -> Option<Piece> {
        if std::mem::take(&mut self.probe) {
            // A number that was acknowledged already: the answer advertises the window.
            let start = self.flight.unacknowledged.saturating_sub(1);
            return Some(self.piece(Span::new(start, start), Kind::Probe));
        }
        let timeout = self.timers.timeout(clock);
        let idle = self.flight_size() == 0 && self.is_waiting();
        let modern = self.modern.as_mut()?;
        modern.look_anew();
        if idle {
            modern.after_pause(clock.now(), timeout);
        }
        if modern.take_tail_probe() {
            return self.tail_probe();
        }
        let repair = modern.next_repair();
        let piece = match repair {
            Some(span) => Some(self.repair_piece(span)),
            None => self.onward(clock),
        };
        let waiting = self.is_waiting();
        let modern = self.modern.as_mut()?;
        if piece.is_none() && waiting && modern.room() == 0 {
            modern.held_back(self.flight.end);
        }
        piece.filter(|_| modern.may_go(clock.now()))
    }

    /// Returns true if there are data that were never sent.
    fn is_waiting(&self) -> bool {
        self.available() > self.flight.next
    }

    fn repair_piece(&self, span: Span) -> Piece {
        let end = span.end.min(self.stream.written);
        let piece = self.piece(Span::new(span.start.min(end), end), Kind::Repair);
        Piece {
            fin: span.end > self.stream.written,
            ..piece
        }
    }

    /// Returns a tail loss probe: new data, or the last data that were sent.
    fn tail_probe(&self) -> Option<Piece> {
        let limit = self.flight.unacknowledged + self.peer.size;
        let end = self.available().min(limit);
        let end = end.min(self.flight.next + self.segment);
        if end > self.flight.next {
            return Some(self.piece(Span::new(self.flight.next, end), Kind::Onward));
        }
        let last = self.modern.as_ref()?.transmissions.last()?;
        Some(self.repair_piece(last))
    }

    /// Records that a piece is sent.
    pub(super) fn note_transmission(&mut self, piece: &Piece, clock: &Clock) {
        let span = Span::new(piece.start, piece.end());
        if piece.syn || piece.kind == Kind::Probe {
            return;
        }
        let smoothed = self.smoothed();
        if let Some(modern) = &mut self.modern {
            modern.on_sent(span, clock.now(), clock.count(), smoothed);
        }
        if piece.kind == Kind::Repair && piece.start == self.flight.unacknowledged {
            self.timers.do_not_time();
            self.timers.restart(clock);
        }
    }

    /// Records a lack of data, if there is one: the measured rate then does not show the rate of the path.
    pub(super) fn note_starvation(&mut self) {
        let little = self.available() < self.flight.next + self.segment;
        if let Some(modern) = self.modern.as_mut().filter(|_| little) {
            modern.starve();
        }
    }

    /// Returns the next deadline of pacing, loss detection or the tail loss probe.
    pub(crate) fn present_deadline(&self) -> Option<Instant> {
        self.modern.as_ref()?.deadline()
    }

    pub(crate) fn handle_present(&mut self, clock: &Clock) {
        let (end, smoothed) = (self.flight.end, self.smoothed());
        if let Some(modern) = &mut self.modern {
            let recovering = modern.is_recovering();
            modern.handle_timeout(clock.now(), end, smoothed);
            let begins = !recovering && modern.is_recovering();
            self.recovered.fast_retransmissions += u64::from(begins);
        }
    }
}
