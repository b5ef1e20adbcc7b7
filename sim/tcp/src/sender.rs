//! The sending half: the sent stream, its acknowledgement, and the choice of the next segment.

mod acknowledge;
mod choose;
mod detection;
mod modern;
mod present;
mod rack;
mod scoreboard;
mod transmissions;

use units::{Instant, SeqNumber};

pub(crate) use acknowledge::Acknowledgment;
pub(crate) use choose::Piece;

use crate::Config;
use crate::clock::Clock;
use crate::congestion::CongestionWindow;
use crate::control::Controller;
use crate::counters::{Recovered, Sent};
use crate::numbers::Numbers;
use crate::retransmission::Retransmission;
use detection::Detection;
use modern::RackSender;

/// Progress of the sent stream, in positions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    /// First position that is not acknowledged.
    pub(crate) unacknowledged: u64,
    /// Next position to send: before `end` while everything is retransmitted after a timeout.
    pub(crate) next: u64,
    /// Position after the last that was ever sent.
    pub(crate) end: u64,
}

/// The stream to be sent.
#[derive(Debug, Clone, Copy)]
struct SendBuffer {
    /// Position after the last byte written; that of the FIN.
    written: u64,
    /// True if the FIN is to be sent.
    closed: bool,
    /// Position after the data in the buffer.
    buffered: u64,
    /// Size of the buffer: limit of unacknowledged bytes.
    buffer: u64,
    /// Free space that a blocked writer waits for.
    low_water: u64,
    no_delay: bool,
}

/// The peer's window.
#[derive(Debug, Clone, Copy)]
struct Peer {
    size: u64,
    largest: u64,
    scale: u8,
    /// Segment that advertised the window: its number, and the position that it acknowledged.
    told_by: (SeqNumber, u64),
    /// Time of the last segment received from the peer.
    heard: Instant,
}

/// The sender of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) numbers: Numbers,
    pub(crate) flight: Flight,
    stream: SendBuffer,
    peer: Peer,
    segment: u64,
    window: CongestionWindow,
    pub(crate) timers: Retransmission,
    detection: Detection,
    /// True if a probe of a closed window is due.
    probe: bool,
    pub(crate) sent: Sent,
    pub(crate) recovered: Recovered,
    /// State of a present-day sender; replaces `window` and `detection` if the configuration selects it.
    modern: Option<Box<RackSender>>,
}

impl Sender {
    pub(crate) fn new(config: &Config, first: SeqNumber, clock: &Clock) -> Self {
        Self {
            numbers: Numbers::new(first),
            flight: Flight::default(),
            stream: SendBuffer {
                written: 1,
                closed: false,
                buffered: 1,
                buffer: config.buffer(config.send_buffer),
                low_water: config.send_low_water.get().max(1),
                no_delay: config.no_delay,
            },
            peer: Peer {
                size: 0,
                largest: 0,
                scale: 0,
                told_by: (SeqNumber(0), 0),
                heard: Instant::ZERO,
            },
            segment: config.maximum_segment_size.into(),
            window: CongestionWindow::new(&config.congestion),
            timers: Retransmission::new(&config.timing, clock),
            detection: Detection::new(&config.recovery),
            probe: false,
            sent: Sent::default(),
            recovered: Recovered::default(),
            modern: Controller::new(&config.congestion, first)
                .map(|control| Box::new(RackSender::new(control))),
        }
    }

    /// Sets the negotiated segment size, and the scale of the peer's windows.
    pub(crate) fn agreed(&mut self, segment: u64, scale: u8) {
        self.segment = segment;
        self.peer.scale = scale;
        self.window.agreed(segment, scale);
        if let Some(modern) = &mut self.modern {
            modern.agreed(segment);
        }
    }

    /// Returns the congestion window, in bytes.
    pub(crate) fn congestion_window(&self) -> u64 {
        let modern = self.modern.as_ref();
        modern.map_or(self.window.size(), |modern| modern.control.window())
    }

    /// Returns the slow start threshold, in bytes.
    pub(crate) fn slow_start_threshold(&self) -> u64 {
        let modern = self.modern.as_ref();
        modern.map_or(self.window.threshold(), |modern| modern.control.threshold())
    }

    /// Adds `bytes` to the stream.
    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.stream.closed {
            self.stream.written = self.stream.written.saturating_add(bytes).min(1 << 62);
            self.refill();
        }
    }

    /// Closes the stream after the data written so far.
    pub(crate) fn close(&mut self) {
        self.stream.closed = true;
    }

    /// Returns the free space of the buffer, in bytes; zero below the low-water mark, and after the end.
    pub(crate) fn room(&self) -> u64 {
        if self.stream.closed {
            return 0;
        }
        let end = self.flight.unacknowledged.max(1) + self.stream.buffer;
        let room = end.saturating_sub(self.stream.written);
        if room < self.stream.low_water {
            0
        } else {
            room
        }
    }

    /// Returns true if this end has closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.stream.closed
    }

    /// Returns the position of an acknowledgement without data: after everything sent, except a probe that the peer had
    /// no room for.
    pub(crate) fn idle_position(&self) -> u64 {
        let probes = self.timers.persist_deadline().is_some();
        if probes {
            self.flight.next
        } else {
            self.flight.end
        }
    }

    /// Returns true if this end's SYN is acknowledged.
    pub(crate) fn is_open(&self) -> bool {
        self.flight.unacknowledged > 0
    }

    /// Returns true if this end's FIN is acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.stream.closed && self.flight.unacknowledged > self.stream.written
    }

    /// Returns true if everything written is acknowledged, with the FIN if this end has closed.
    pub(crate) fn is_drained(&self) -> bool {
        let end = self.stream.written + u64::from(self.stream.closed);
        self.flight.unacknowledged >= end
    }

    /// Returns the number of bytes of data that were acknowledged.
    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        let position = self.flight.unacknowledged.min(self.stream.written);
        position.saturating_sub(1)
    }

    /// Records that a segment was received from the peer.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.peer.heard = now;
    }

    /// Returns the peer's window in bytes, from the value in a header.
    pub(crate) fn scaled(&self, window: u16) -> u64 {
        u64::from(window) << self.peer.scale
    }

    /// Sets the window of the handshake, which is never scaled, advertised by the segment `number`.
    pub(crate) fn set_window(&mut self, size: u64, number: SeqNumber) {
        self.peer.size = size;
        self.peer.largest = self.peer.largest.max(size);
        self.peer.told_by = (number, self.flight.unacknowledged);
    }

    /// Returns the number of bytes sent and not acknowledged.
    pub(crate) fn flight_size(&self) -> u64 {
        self.flight.end - self.flight.unacknowledged
    }

    /// Handles the retransmission timeout. Returns false if the connection must be aborted.
    pub(crate) fn time_out(&mut self, clock: &Clock) -> bool {
        self.recovered.timeouts += 1;
        if self.is_open() && self.peer.size == 0 {
            // The peer has taken its window back: the retransmission probes it, and no number of probes is too many
            // while they are answered (RFC 9293 §3.8.6.1; Linux's tcp_retransmit_timer).
            self.timers.stop();
            self.flight.next = self.flight.unacknowledged;
            self.persist_out();
            return true;
        }
        if !self.timers.expired(clock) {
            return false;
        }
        if let (true, Some(modern)) = (self.is_open(), &mut self.modern) {
            modern.on_timeout(self.flight.end);
            return true;
        }
        if self.is_open() {
            self.window
                .halve_threshold(self.window.size().min(self.peer.size));
            self.window.restart();
        }
        self.detection.restart(self.flight.end);
        self.flight.next = self.flight.unacknowledged;
        true
    }

    /// Handles the persist timeout.
    pub(crate) fn persist_out(&mut self) {
        self.timers.persist_expired();
        self.probe = true;
    }

    /// Starts the persist timer if data wait for a window to open; called after everything that may be sent was sent.
    pub(crate) fn settle(&mut self, clock: &Clock) {
        self.note_starvation();
        let paced = self.modern.as_ref().is_some_and(|modern| modern.waits());
        if self.timers.is_running() || !self.is_open() || paced {
            return;
        }
        let waits = self.available() > self.flight.next || self.flight_size() > 0;
        if waits {
            self.timers.start_persist(clock);
        }
    }

    /// Returns the position after the data in the buffer that may be sent.
    fn available(&self) -> u64 {
        self.stream.buffered
    }

    /// Moves data of a blocked writer into the buffer, as many as fit, once there is room for the rest or for the
    /// low-water mark (Wright, Stevens 1995, §16.7).
    fn refill(&mut self) {
        let stream = &mut self.stream;
        let end = self.flight.unacknowledged.max(1) + stream.buffer;
        let room = end.saturating_sub(stream.buffered);
        let waiting = stream.written - stream.buffered;
        if waiting <= room {
            stream.buffered = stream.written;
        } else if room >= stream.low_water {
            stream.buffered += room;
        }
    }
}
