//! The sender of a present-day kernel: it records each sent segment and detects losses by time; a [`Controller`] sets
//! the congestion window and the pace.

use units::{Duration, Instant};

use super::rack::Rack;
use super::transmissions::{Found, Rates, Transmissions};
use crate::control::{Controller, Phase, Sample};
use crate::span::Span;

/// Additional time to wait for the acknowledgement of a flight's only segment, as the peer may delay it.
const DELAYED: Duration = Duration::from_millis(200);
/// Additional time to wait for the acknowledgement of a longer flight.
const SLACK: Duration = Duration::from_millis(2);
/// Largest number of selective acknowledgement blocks of one segment.
pub(super) const BLOCKS: usize = 4;

/// Time of the next segment.
#[derive(Debug, Clone, Copy)]
struct Pacing {
    next: Instant,
    /// True if a segment waits for that time.
    waits: bool,
    last_sent: Instant,
}

/// A tail loss probe at the end of a flight (RFC 8985 §7).
#[derive(Debug, Clone, Copy, Default)]
struct Tail {
    deadline: Option<Instant>,
    due: bool,
    /// End of the data sent at the last probe.
    probed: u64,
}

/// An acknowledgement, in positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    pub(super) now: Instant,
    /// Positions acknowledged before, and now.
    pub(super) before: u64,
    pub(super) position: u64,
    /// End of the data sent.
    pub(super) end: u64,
    pub(super) blocks: [Option<Span>; BLOCKS],
    /// Tick of ours that it echoes: the tick of the segment that it answers.
    pub(super) echo: Option<u64>,
    pub(super) smoothed: Duration,
}

/// State of the sender.
#[derive(Debug, Clone)]
pub(crate) struct RackSender {
    pub(super) control: Controller,
    pub(super) transmissions: Transmissions,
    rates: Rates,
    rack: Rack,
    phase: Phase,
    /// Tick of the first retransmission of a recovery, for the detection of a false alarm.
    alarm: Option<u64>,
    pacing: Pacing,
    tail: Tail,
    /// End of the data sent when the window limited the sender last.
    limited_until: u64,
    /// Blocks of the last acknowledgement, which are recorded already.
    known: [Option<Span>; BLOCKS],
    segment: u64,
}

impl RackSender {
    pub(super) fn new(control: Controller) -> Self {
        Self {
            control,
            transmissions: Transmissions::default(),
            rates: Rates::new(),
            rack: Rack::new(),
            phase: Phase::Open,
            alarm: None,
            pacing: Pacing {
                next: Instant::ZERO,
                waits: false,
                last_sent: Instant::ZERO,
            },
            tail: Tail::default(),
            limited_until: 0,
            known: [None; BLOCKS],
            segment: 1,
        }
    }

    pub(super) fn agreed(&mut self, segment: u64) {
        self.segment = segment;
        self.control.agreed(segment);
    }

    /// Returns the free part of the window, in whole segments.
    pub(super) fn room(&self) -> u64 {
        let room = self
            .control
            .window()
            .saturating_sub(self.transmissions.in_flight());
        room / self.segment * self.segment
    }

    /// Returns the first retransmission, if the window has room for it.
    pub(super) fn next_repair(&self) -> Option<Span> {
        let span = self.transmissions.first_lost()?;
        let in_flight = self.transmissions.in_flight();
        let fits = in_flight == 0 || in_flight + span.length() <= self.control.window();
        fits.then_some(span)
    }

    /// Returns true if a tail loss probe is due; only once.
    pub(super) fn take_tail_probe(&mut self) -> bool {
        std::mem::take(&mut self.tail.due)
    }

    /// Returns true if pacing allows a segment now; otherwise records that one waits.
    pub(super) fn may_go(&mut self, now: Instant) -> bool {
        self.pacing.waits = now < self.pacing.next;
        !self.pacing.waits
    }

    pub(super) fn waits(&self) -> bool {
        self.pacing.waits
    }

    /// Records that no segment waits for pacing.
    pub(super) fn look_anew(&mut self) {
        self.pacing.waits = false;
    }

    /// Records that the window limits the sender.
    pub(super) fn held_back(&mut self, end: u64) {
        self.limited_until = end;
    }

    /// Records that there is nothing to send.
    pub(super) fn starve(&mut self) {
        let pending = self.transmissions.first_lost().is_some();
        let in_flight = self.transmissions.in_flight();
        if !pending && in_flight < self.control.window() {
            self.rates.limit(in_flight);
        }
    }

    /// Handles the first segment after everything was acknowledged.
    pub(super) fn after_pause(&mut self, now: Instant, timeout: Duration) {
        let pause = now.since(self.pacing.last_sent);
        let timeouts = pause.as_nanos() / timeout.as_nanos().max(1);
        if timeouts > 0 {
            self.control.on_pause(timeouts);
            self.pacing.last_sent = now;
        }
    }

    /// Records that a segment is sent. `tick` is the current tick.
    pub(super) fn on_sent(&mut self, span: Span, now: Instant, tick: u64, smoothed: Duration) {
        let in_flight = self.transmissions.in_flight();
        let limited = self.rates.app_limited();
        self.control.on_sent(now, span.length(), in_flight, limited);
        let idle = if self.transmissions.count() == 0 {
            0
        } else {
            in_flight.max(1)
        };
        let snapshot = self.rates.snapshot(now, idle);
        let again = self.transmissions.send(span, now, snapshot);
        if again && self.alarm.is_none() && self.phase != Phase::Open {
            self.alarm = Some(tick);
        }
        let spacing = self.control.spacing(span.length());
        self.pacing.next = self.pacing.next.max(now) + spacing;
        self.pacing.last_sent = now;
        self.watch_tail(now, smoothed);
    }

    /// Processes an acknowledgement.
    pub(super) fn acknowledge(&mut self, report: &Report) {
        let now = report.now;
        let in_flight_before = self.transmissions.in_flight();
        if self.control.forces_app_limited() {
            self.rates.limit(in_flight_before);
        }
        let found = self.find(report);
        let delivery = self.rates.sample(&found, now, self.rack.least());
        self.rack.update(&found, now);
        let spurious = report.position > report.before
            && matches!((self.alarm, report.echo), (Some(alarm), Some(echo)) if echo < alarm);
        if spurious {
            self.end_false_alarm();
        } else if self
            .phase
            .point()
            .is_some_and(|point| report.position >= point)
        {
            self.end_repairs();
        }
        let lost = self.detect(report.end, now, report.smoothed);
        let sample = Sample {
            now,
            arrived: found.arrived,
            lost,
            in_flight_before,
            in_flight: self.transmissions.in_flight(),
            total: self.rates.total(),
            round_trip: found.round_trip,
            delivery,
            window_limited: report.before < self.limited_until,
            phase: self.phase,
        };
        self.control.on_acknowledgment(&sample);
        self.watch_tail(now, report.smoothed);
    }

    /// Records the segments that have arrived, and returns them.
    fn find(&mut self, report: &Report) -> Found {
        let mut found = Found::default();
        let other = (self.transmissions.furthest(), self.rack.least());
        let now = report.now;
        self.transmissions
            .acknowledge(report.position, |known| found.note(known, now, other));
        for block in report.blocks.into_iter().flatten() {
            let overlaps = |known: &Span| known.start < block.end && block.start < known.end;
            let mut known = self.known.into_iter().flatten();
            let parts = match known.find(overlaps) {
                Some(known) => [
                    Span::new(block.start, known.start),
                    Span::new(known.end, block.end),
                ],
                None => [block, Span::new(0, 0)],
            };
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                self.transmissions
                    .arrive(part, |known| found.note(known, now, other));
            }
        }
        if report.blocks[0].is_some() {
            self.known = report.blocks;
        }
        found
    }

    /// Detects losses, which begin a recovery; returns the number of bytes lost.
    fn detect(&mut self, end: u64, now: Instant, smoothed: Duration) -> u64 {
        let eager = self.phase != Phase::Open;
        let before = self.transmissions.in_flight();
        let lost = self
            .rack
            .detect(&mut self.transmissions, now, eager, smoothed);
        if lost > 0 && self.phase == Phase::Open {
            self.phase = Phase::Recovery(end);
            self.alarm = None;
            self.control.on_congestion(before);
        }
        lost
    }

    fn end_repairs(&mut self) {
        self.phase = Phase::Open;
        self.alarm = None;
        self.control.on_recovered();
    }

    fn end_false_alarm(&mut self) {
        self.phase = Phase::Open;
        self.alarm = None;
        self.transmissions.find_all();
        self.rack.widen_reordering_window();
        self.control.on_false_alarm();
    }

    /// Handles a retransmission timeout.
    pub(super) fn on_timeout(&mut self, end: u64) {
        let first = !matches!(self.phase, Phase::Timeout(_));
        self.transmissions.lose_all();
        self.known = [None; BLOCKS];
        self.phase = Phase::Timeout(end);
        self.tail = Tail {
            probed: end,
            ..Tail::default()
        };
        self.pacing.next = Instant::ZERO;
        if first {
            self.alarm = None;
        }
        self.control.on_timeout(first);
    }

    /// Returns true if a recovery is in progress that losses have begun.
    pub(super) fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_))
    }

    /// Sets the timer of the tail loss probe.
    fn watch_tail(&mut self, now: Instant, smoothed: Duration) {
        let count = self.transmissions.count();
        let calm = self.phase == Phase::Open && self.transmissions.arrived() == 0;
        let last = self.transmissions.last().map_or(0, |last| last.end);
        if !calm || count == 0 || last <= self.tail.probed || smoothed.is_zero() {
            self.tail.deadline = None;
            return;
        }
        let more = if count == 1 { DELAYED } else { SLACK };
        self.tail.deadline = Some(now + smoothed * 2 + more);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let pace = self.pacing.waits.then_some(self.pacing.next);
        let losses = machine::earlier(self.rack.deadline(), self.tail.deadline);
        machine::earlier(pace, losses)
    }

    /// Handles deadlines that have come.
    pub(super) fn handle_timeout(&mut self, now: Instant, end: u64, smoothed: Duration) {
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if due(self.tail.deadline) {
            self.tail = Tail {
                deadline: None,
                due: true,
                probed: end,
            };
        }
        if due(self.rack.deadline()) {
            let in_flight_before = self.transmissions.in_flight();
            let lost = self.detect(end, now, smoothed);
            let sample = Sample {
                now,
                arrived: 0,
                lost,
                in_flight_before,
                in_flight: self.transmissions.in_flight(),
                total: self.rates.total(),
                round_trip: None,
                delivery: None,
                window_limited: false,
                phase: self.phase,
            };
            self.control.on_acknowledgment(&sample);
        }
    }
}
