//! Processing of acknowledgements.

use units::{Duration, Instant, SeqNumber};
use wire::tcp::{AirLoss, SeqRange, TcpSegmentOptions};

use super::Sender;
use super::detection::Episode;
use super::scoreboard::Missing;
use crate::clock::Clock;
use crate::recovery::{Evidence, Repairs, Verdict};
use crate::span::Span;

/// An acknowledgement of sent data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledgment<'a> {
    /// Position before which everything is acknowledged; at most the end of the sent data.
    pub(crate) position: u64,
    /// Sequence number of the segment that carries it.
    pub(crate) number: SeqNumber,
    /// The window, after scaling.
    pub(crate) window: u64,
    /// True if the segment itself takes sequence numbers.
    pub(crate) occupies: bool,
    /// The options.
    pub(crate) options: &'a TcpSegmentOptions,
    /// Tick that a timestamp echoes.
    pub(crate) echo: Option<u64>,
}

impl Sender {
    /// Processes an acknowledgement. Returns true if it is a duplicate.
    pub(crate) fn acknowledge(&mut self, ack: &Acknowledgment<'_>, clock: &Clock) -> bool {
        if self.modern.is_some() {
            return self.acknowledge_at_present(ack, clock);
        }
        let same_window = self.peer.size == ack.window;
        let waits = self.flight_size() > 0 && self.timers.deadline().is_some();
        let repeats = ack.position == self.flight.unacknowledged && waits;
        self.detection.looked_at = clock.now();
        self.update_window(ack);
        if ack.position > self.flight.unacknowledged {
            self.take_new(ack, clock);
        }
        let news = self.learn(ack);
        let duplicate = repeats && ((!ack.occupies && same_window) || news);
        if duplicate {
            self.detection.duplicates = self.detection.duplicates.saturating_add(1);
            if self.detection.episode.is_some() && !self.detection.is_selective() {
                self.window.inflate();
            }
        }
        if duplicate || news {
            self.judge(ack, clock);
        }
        duplicate
    }

    /// Updates the window, unless the segment is older than the one that set it (RFC 9293 §3.10.7.4).
    pub(super) fn update_window(&mut self, ack: &Acknowledgment<'_>) {
        let (number, position) = self.peer.told_by;
        if number < ack.number || (number == ack.number && position <= ack.position) {
            self.peer.size = ack.window;
            self.peer.largest = self.peer.largest.max(ack.window);
            self.peer.told_by = (ack.number, ack.position);
            if ack.window > 0 {
                self.timers.end_persist();
            }
        }
    }

    /// Handles an acknowledgement of new data.
    fn take_new(&mut self, ack: &Acknowledgment<'_>, clock: &Clock) {
        let acknowledged = ack.position - self.flight.unacknowledged;
        let opens = !self.is_open();
        self.timers.acknowledged(ack.position, ack.echo, clock);
        let detection = &mut self.detection;
        let holds = detection.rule.holds_on_partial(&detection.settings);
        match detection.episode {
            Some(episode) if ack.position < episode.point && holds => {
                self.recovered.partial_acknowledgments += 1;
                detection.urgent = true;
                if !detection.is_selective() {
                    let again = if acknowledged >= self.segment {
                        self.segment
                    } else {
                        0
                    };
                    let left = self.window.size().saturating_sub(acknowledged);
                    self.window.set(left + again);
                }
            }
            Some(episode) => {
                detection.episode = None;
                detection.urgent = false;
                let few = detection.duplicates <= detection.settings.duplicates;
                if !(detection.settings.late_deflation && few && !holds) {
                    self.window.set(self.window.size().min(episode.target));
                }
                self.window.grow();
            }
            None if opens => {}
            None => self.window.grow(),
        }
        self.detection.advanced();
        self.detection.scoreboard.acknowledged(ack.position);
        self.advance(ack.position, clock);
    }

    /// Advances the acknowledged position to `position`.
    pub(super) fn advance(&mut self, position: u64, clock: &Clock) {
        self.flight.unacknowledged = position;
        self.refill();
        self.flight.next = self.flight.next.max(position);
        if self.flight_size() == 0 {
            self.timers.stop();
        } else {
            self.timers.restart(clock);
        }
    }

    /// Records the segments that arrived and those that were lost on the air; returns true if any were unknown.
    fn learn(&mut self, ack: &Acknowledgment<'_>) -> bool {
        let options = ack.options;
        let mut news = false;
        if self.detection.settings.policy.reads_sack() {
            for block in options.sack.iter() {
                if let Some(span) = self.span_beyond(block) {
                    news |= self.detection.scoreboard.arrived(span);
                }
            }
        }
        match self.detection.rule.repairs() {
            Repairs::GapsAgain => {
                if let Some(cause) = options.cause {
                    let end = cause + self.segment as u32;
                    let range = SeqRange { start: cause, end };
                    if let Some(span) = self.span_beyond(range) {
                        news |= self.detection.scoreboard.arrived(span);
                    }
                }
            }
            Repairs::Marked => news |= self.learn_marks(&options.air_loss),
            Repairs::Next | Repairs::Gaps => {}
        }
        news
    }

    fn learn_marks(&mut self, air_loss: &AirLoss) -> bool {
        let unacknowledged = self.flight.unacknowledged;
        let mut news = false;
        match air_loss {
            AirLoss::None => {}
            AirLoss::Next => {
                let end = unacknowledged + self.segment;
                let span = Span::new(unacknowledged, end.min(self.flight.end));
                news = !span.is_empty() && self.detection.scoreboard.marked(span);
            }
            AirLoss::Ranges(ranges) => {
                for range in ranges.iter() {
                    if let Some(span) = self.span(range) {
                        news |= self.detection.scoreboard.marked(span);
                    }
                }
            }
        }
        news
    }

    /// Returns the positions of a range of sent and unacknowledged data; `None` if it lies outside.
    fn span(&self, range: SeqRange) -> Option<Span> {
        let near = self.flight.unacknowledged;
        let start = self.numbers.position(range.start, near)?.max(near);
        let end = self.numbers.position(range.end, near)?.min(self.flight.end);
        let span = Span::new(start, end);
        let plausible = self.numbers.ahead(range.start, self.flight.end) < 0;
        (plausible && !span.is_empty()).then_some(span)
    }

    /// Returns the positions of a range that arrived: it lies beyond the segment expected next.
    pub(super) fn span_beyond(&self, range: SeqRange) -> Option<Span> {
        let span = self.span(range);
        span.filter(|span| span.start > self.flight.unacknowledged)
    }

    /// Decides whether there was a loss, and begins a recovery.
    fn judge(&mut self, ack: &Acknowledgment<'_>, clock: &Clock) {
        let evidence = self.evidence(ack);
        let detection = &mut self.detection;
        let verdict = detection.rule.judge(&detection.settings, &evidence);
        let reduced = detection.episode.map(|episode| episode.reduced);
        let old = detection.settings.careful
            && self.flight.unacknowledged < detection.last_point
            && detection.episode.is_none();
        match verdict {
            Verdict::Probe => detection.probe(self.flight.end),
            Verdict::Congestion if reduced != Some(true) && !old => self.recover(true, clock),
            Verdict::Air if reduced.is_none() => self.recover(false, clock),
            Verdict::Wait | Verdict::Congestion | Verdict::Air => {}
        }
    }

    fn evidence(&self, ack: &Acknowledgment<'_>) -> Evidence {
        let detection = &self.detection;
        let scoreboard = &detection.scoreboard;
        let asked = self.flight.unacknowledged;
        let marked = match &ack.options.air_loss {
            AirLoss::None => false,
            AirLoss::Next => true,
            AirLoss::Ranges(ranges) => {
                let number = self.numbers.number(asked);
                ranges.iter().any(|range| range.contains(number))
            }
        };
        let since = self.repaired_since();
        let hole = |missing| {
            let hole = scoreboard.hole(missing, asked, self.segment, since);
            hole.is_some()
        };
        let probed = scoreboard.arrived_end();
        Evidence {
            duplicates: detection.duplicates,
            marked,
            gap: hole(Missing::Gaps),
            unmarked_gap: hole(Missing::Unmarked),
            marked_gap: hole(Missing::Marked),
            probe_arrived: probed.is_some_and(|end| end > detection.probed_from),
        }
    }

    /// Repairs from this time on count as recent. It moves with acknowledgements only: SMART sends again when it
    /// receives one, not when time has passed.
    pub(super) fn repaired_since(&self) -> Instant {
        match self.detection.rule.repairs() {
            Repairs::Next | Repairs::Gaps => Instant::ZERO,
            Repairs::GapsAgain | Repairs::Marked => {
                let most = self.timers.round_trip().most();
                self.detection.looked_at - most.unwrap_or(Duration::MAX)
            }
        }
    }

    /// Begins a recovery, or reduces the window in one that did not.
    fn recover(&mut self, reduce: bool, clock: &Clock) {
        let in_use = self.window.size().min(self.peer.size);
        let target = if reduce {
            self.window.halve_threshold(in_use)
        } else {
            self.window.size()
        };
        let detection = &mut self.detection;
        let begins = detection.episode.is_none();
        let point = detection
            .episode
            .map_or(self.flight.end, |episode| episode.point);
        detection.episode = Some(Episode {
            point,
            target,
            reduced: reduce,
            blind: detection.scoreboard.is_empty(),
        });
        detection.last_point = point;
        detection.probes = 0;
        let left = if detection.is_selective() {
            0
        } else {
            detection.duplicates
        };
        self.window.set(target + u64::from(left) * self.segment);
        if begins {
            if detection.rule.repairs() == Repairs::Gaps {
                detection.scoreboard.forget_repairs();
            }
            detection.urgent = true;
            self.recovered.fast_retransmissions += 1;
            self.recovered.without_reduction += u64::from(!reduce);
            self.timers.do_not_time();
            self.timers.restart(clock);
        }
    }
}
