//! Processing of arriving segments (RFC 9293 §3.10.7).

use units::Duration;
use wire::TcpSegment;
use wire::tcp::{AirLoss, TcpFlags};

use crate::sender::Acknowledgment;
use crate::{Endpoint, State};

impl Endpoint {
    /// Processes an arriving segment.
    pub(crate) fn arrive(&mut self, segment: &TcpSegment) {
        if !self.is_for_us(segment.source, segment.destination) {
            self.receiver.received.foreign += 1;
            return;
        }
        self.receiver.received.segments += 1;
        self.sender.heard(self.clock.now());
        match self.state {
            State::Closed => self.arrive_closed(segment),
            State::Listen => self.arrive_listening(segment),
            State::SynSent => self.arrive_syn_sent(segment),
            _ => self.arrive_synchronized(segment),
        }
    }

    /// Processes a segment in a state in which both ends know each other's sequence numbers.
    fn arrive_synchronized(&mut self, segment: &TcpSegment) {
        let acceptable = self
            .receiver
            .accepts(segment.sequence, segment.sequence_length());
        if !acceptable || !self.is_timely(segment) {
            self.receiver.received.unacceptable += 1;
            if !segment.flags.contains(TcpFlags::RST) {
                self.object(segment);
            }
            return;
        }
        if segment.flags.contains(TcpFlags::RST) {
            // Only the exact number resets the connection; any other in the window may be a guess (RFC 5961 §3.2).
            if segment.sequence == self.receiver.acknowledgment() {
                self.end(self.state != State::TimeWait);
            } else {
                self.object(segment);
            }
            return;
        }
        if segment.flags.contains(TcpFlags::SYN) {
            self.object(segment);
            return;
        }
        if !segment.flags.contains(TcpFlags::ACK) {
            return;
        }
        if self.acknowledge(segment) {
            self.take_data(segment);
        }
    }

    /// Returns true if the timestamps show that the segment is not older than those received before (PAWS, RFC 7323
    /// §5.3).
    fn is_timely(&mut self, segment: &TcpSegment) -> bool {
        let (Some(recent), Some(theirs)) = (self.agreed.timestamps, segment.options.timestamps)
        else {
            return true;
        };
        let ahead = theirs.value.wrapping_sub(recent).cast_signed();
        if ahead < 0 {
            return segment.flags.contains(TcpFlags::RST);
        }
        let next = self.receiver.acknowledgment();
        if segment.sequence <= next {
            self.agreed.timestamps = Some(theirs.value);
        }
        true
    }

    /// Answers an unacceptable segment with an acknowledgement, so that the peer learns the current numbers; segments
    /// that take no sequence number are answered at most once a tick.
    fn object(&mut self, segment: &TcpSegment) {
        let tick = Some(self.clock.count());
        if segment.sequence_length() > 0 || self.objected_at != tick {
            self.objected_at = tick;
            self.receiver.acknowledge_now();
        }
        if self.state == State::TimeWait && segment.flags.contains(TcpFlags::FIN) {
            self.enter(State::TimeWait);
        }
    }

    /// Processes the acknowledgement of a segment.
    pub(crate) fn acknowledge_segment(&mut self, segment: &TcpSegment, position: u64) {
        let syn = segment.flags.contains(TcpFlags::SYN);
        let window = if syn {
            segment.window.into()
        } else {
            self.sender.scaled(segment.window)
        };
        let marked = segment.options.air_loss != AirLoss::None;
        self.receiver.received.marked_acknowledgments += u64::from(marked);
        let before = self.sender.flight.unacknowledged;
        let duplicate = self.sender.acknowledge(
            &Acknowledgment {
                position,
                number: segment.sequence,
                window,
                occupies: segment.sequence_length() > 0,
                options: &segment.options,
                echo: self.echo(segment),
            },
            &self.clock,
        );
        self.receiver.received.duplicate_acknowledgments += u64::from(duplicate);
        self.news.writable |= self.sender.flight.unacknowledged > before;
    }

    /// Processes an acknowledgement, which may open or end the connection. Returns false if the rest of the segment
    /// must be ignored.
    pub(crate) fn acknowledge(&mut self, segment: &TcpSegment) -> bool {
        let flight = self.sender.flight;
        let near = flight.unacknowledged;
        let number = segment.acknowledgment;
        let ahead = self.sender.numbers.ahead(number, near);
        let position = near.checked_add_signed(ahead);
        let opens = !self.sender.is_open();
        let Some(position) = position.filter(|position| *position <= flight.end) else {
            // It acknowledges data that were never sent.
            if opens {
                self.news.reply = Some(self.reset(number, None));
            } else {
                self.object(segment);
            }
            return false;
        };
        if opens && position == 0 {
            self.news.reply = Some(self.reset(number, None));
            return false;
        }
        self.acknowledge_segment(segment, position);
        if opens {
            self.establish();
        }
        if self.sender.is_finished() {
            let state = self.state.fin_acknowledged();
            if state != self.state {
                self.enter(state);
            }
            if state == State::Closed {
                self.end(false);
                return false;
            }
        }
        true
    }

    /// Returns the tick that a timestamp echoes, if it is one of ours.
    fn echo(&self, segment: &TcpSegment) -> Option<u64> {
        self.agreed.timestamps?;
        let echo = segment.options.timestamps?.echo;
        let ago = (self.clock.count() as u32).wrapping_sub(echo);
        let plausible = self.clock.tick() * u64::from(ago) <= self.longest();
        plausible.then(|| self.clock.count().saturating_sub(ago.into()))
    }

    /// Returns the longest round trip that is accepted as a sample.
    fn longest(&self) -> Duration {
        self.config.timing.maximum_timeout * 2
    }

    /// Processes the data of a segment and its FIN.
    pub(crate) fn take_data(&mut self, segment: &TcpSegment) {
        let fin = segment.flags.contains(TcpFlags::FIN);
        if segment.payload == 0 && !fin {
            return;
        }
        if !self.state.may_receive() && self.state != State::SynReceived {
            self.receiver.acknowledge_now();
            return;
        }
        self.receiver
            .take(segment.payload_range(), fin, self.clock.now());
        if self.receiver.is_finished() {
            self.news.finished = true;
            self.enter(self.state.closed_there());
        }
    }
}
