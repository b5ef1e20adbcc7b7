//! The sending half: written, sent and acknowledged data, and the choice of the next packet.

mod clock;
mod flight;
mod state;

use std::ops::Range;

use redirector::Content;
use units::Instant;

use crate::config::{OnTimeout, Repair};
use crate::counters::{Received, Sent};
use crate::cycle::Cycle;
use crate::numbers::Numbers;
use crate::packet::Data;
use crate::receiver::{Arrival, told_at_once};
use crate::state::{Ending, PIECES_MAX};
use crate::{Config, Profile};
use clock::{Held, RetransmissionClock};
use flight::{Flight, Piece};

/// Number of duplicate acknowledgements that show a loss if the receiver sends no requests.
const DUPLICATES: u32 = 3;

/// Limits that the peer sets.
#[derive(Debug, Clone, Copy)]
struct Peer {
    /// End of the peer's window, as a position.
    edge: u64,
    /// Shift of the windows in its packets, in bits.
    shift: u32,
    /// Maximum data of one packet, in bytes.
    segment: u64,
    /// Largest window of the peer so far, in bytes.
    window: u64,
    /// Largest window that counts, in bytes.
    most: u64,
    /// Number of packets that the peer acknowledges at once; fewer may wait there.
    every: usize,
}

/// Losses reported by acknowledgements.
#[derive(Debug, Clone, Copy, Default)]
struct LossReport {
    /// Number of duplicates in a row.
    duplicates: u32,
    /// Cycle of the latest packet that the peer has received.
    heard: u64,
    /// End of the first hole reported last.
    hole_end: u64,
    /// Set if the last packet that was sent is a repair.
    ends_with_repair: bool,
}

/// Content of the packet that goes out now.
#[derive(Debug)]
pub(crate) struct Outgoing<C> {
    pub(crate) start: u64,
    pub(crate) content: C,
    pub(crate) fin: bool,
    pub(crate) cycle: u64,
}

/// Result of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckResult {
    /// It acknowledged data, or opened the window.
    News,
    /// It brought nothing new.
    Nothing,
    /// It is older than another one.
    Old,
    /// It acknowledges data that were never sent, or a position that no valid packet can carry: it was ignored.
    Impossible,
}

/// Sender of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Sender<C> {
    pub(crate) numbers: Numbers,
    unsent: C,
    ending: Ending,
    /// Next position to be sent for the first time.
    next: u64,
    flight: Flight<C>,
    peer: Peer,
    buffer: u64,
    cycle: Cycle,
    told: LossReport,
    pub(crate) clock: RetransmissionClock,
    repair: Repair,
    pub(crate) sent: Sent,
}

impl<C: Content + Clone> Sender<C> {
    /// Returns a sender whose SYN has the number `first` and is acknowledged.
    pub(crate) fn new(config: &Config, first: u32, profile: Profile) -> Self {
        let mut flight = Flight::new();
        flight.acknowledge(1);
        Self {
            numbers: Numbers::new(first, profile),
            unsent: C::default(),
            ending: Ending::Open,
            next: 1,
            flight,
            peer: Peer {
                edge: 1,
                shift: 0,
                segment: 0,
                window: 0,
                most: 0,
                every: config.acknowledging.every as usize,
            },
            buffer: config.send_buffer.get(),
            cycle: Cycle::new(config.repair.cycles, profile),
            told: LossReport::default(),
            clock: RetransmissionClock::new(config, profile),
            repair: config.repair.clone(),
            sent: Sent::default(),
        }
    }

    /// Applies the parameters of the handshake: `profile`, the maximum packet length, the first window of the peer,
    /// in bytes, and the shift of later windows.
    pub(crate) fn agreed(&mut self, profile: Profile, packet: u16, window: u64, shift: u32) {
        self.numbers = self.numbers.within(profile);
        self.cycle = Cycle::new(self.repair.cycles, profile);
        self.clock.agreed(profile);
        self.peer = Peer {
            edge: 1 + window,
            shift,
            segment: (usize::from(packet) - profile.header_length()) as u64,
            window,
            most: profile.buffer_max(),
            ..self.peer
        };
    }

    /// Adds data to be sent; data beyond the send buffer wait as well.
    pub(crate) fn write(&mut self, content: C) {
        if self.ending == Ending::Open {
            self.unsent.append(content);
        }
    }

    /// Ends the stream: nothing more will be written.
    pub(crate) fn close(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Closed;
        }
    }

    /// Returns the buffered bytes of the stream.
    pub(crate) fn held(&self) -> u64 {
        self.unsent.length() + self.flight.bytes()
    }

    /// Drops the buffered data, which are never sent.
    pub(crate) fn discard(&mut self) {
        self.unsent = C::default();
        self.flight.acknowledge(self.next);
    }

    /// Returns the free bytes of the send buffer; zero after the end.
    pub(crate) fn room(&self) -> u64 {
        if self.ending != Ending::Open {
            return 0;
        }
        self.buffer.saturating_sub(self.held())
    }

    /// Returns true if the whole stream and its end are acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.ending == Ending::Sent && self.flight.is_empty()
    }

    /// Returns true if data wait for the window to open, and no data are in flight.
    pub(crate) fn is_blocked(&self) -> bool {
        self.flight.is_empty() && self.unsent.length() > 0 && !self.can_send()
    }

    /// Returns the bytes in flight: sent and not acknowledged.
    pub(crate) fn flight_bytes(&self) -> u64 {
        self.flight.bytes()
    }

    /// Returns the position of a packet without data.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// Returns true if a packet without data should follow the last one, so that its loss is detected.
    pub(crate) fn wants_follower(&self) -> bool {
        self.repair.follow_repairs && self.told.ends_with_repair
    }

    /// Returns true if a peer without timers may delay its answer to the last packets: nothing follows them. If only
    /// a full window or a full buffer holds up more data, the packets that fill it are acknowledged in any case,
    /// unless they are fewer than the peer acknowledges at once.
    pub(crate) fn ends_burst(&self) -> bool {
        let full = self.ending == Ending::Open && self.room() < self.peer.segment;
        let more = full || self.unsent.length() > 0;
        let answered = more && self.flight.pieces() >= self.peer.every;
        !answered && !self.can_send() && !self.wants_follower()
    }

    /// Returns true if a packet has gone out alone, and nothing follows: the peer would wait for a second one.
    pub(crate) fn is_alone(&self) -> bool {
        let alone = self.flight.pieces() == 1 && self.clock.is_for_tails();
        alone && !self.can_send() && !self.wants_follower()
    }

    /// Returns the cycle of the last packet that the peer had received.
    pub(crate) fn heard(&self, reply: u16) -> u64 {
        self.cycle.heard(reply)
    }

    /// Returns the number of packets that this end has sent since the one with the cycle `reply`.
    pub(crate) fn unheard(&self, reply: u16) -> u64 {
        self.cycle.behind(reply)
    }

    /// Returns the cycle of a packet without data that goes out now.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.told.ends_with_repair = false;
        self.cycle.stamp()
    }

    /// Handles the acknowledgement in a packet; `empty` is set if it carries no data. A packet that was sent later has
    /// acknowledged at least as much, so one that was overtaken acknowledges nothing new.
    pub(crate) fn acknowledge(
        &mut self,
        data: &Data<C>,
        empty: bool,
        arrival: Arrival,
        received: &mut Received,
    ) -> AckResult {
        let now = arrival.at;
        let before = self.flight.acknowledged();
        let ahead = self.numbers.ahead(data.acknowledgment, before);
        let position = before.saturating_add_signed(ahead);
        // A valid packet was sent no longer than a window ago (RFC 5961 §5.2).
        if position > self.next || ahead < -(self.peer.window as i64) {
            received.impossible += 1;
            return AckResult::Impossible;
        }
        if ahead < 0 || (ahead > 0 && arrival.overtaken) {
            return AckResult::Old;
        }
        let heard = self.cycle.heard(data.reply);
        let window = (u64::from(data.window) << self.peer.shift).min(self.peer.most);
        self.peer.window = self.peer.window.max(window);
        let edge = position + window;
        let opened = edge > self.peer.edge;
        self.peer.edge = self.peer.edge.max(edge);
        let advanced = self.flight.acknowledge(position);
        let round_trip = &mut self.clock.round_trip;
        if self.cycle.numbers_packets() {
            round_trip.reached_packet(heard, now);
        } else {
            round_trip.reached(position, now);
        }
        if advanced {
            self.told.duplicates = 0;
        } else if empty && !opened && !self.flight.is_empty() && self.cycle.follows(heard) {
            self.told.duplicates += 1;
        }
        let progress = self.cycle.numbers_packets() && heard > self.told.heard;
        self.told.heard = self.told.heard.max(heard);
        let followed = self.follow(data, position, received);
        if progress || advanced {
            self.clock.answered();
        }
        if self.flight.is_empty() {
            self.clock.deadline = None;
        } else if advanced || followed || progress {
            self.restart_clock(now);
        }
        if advanced || opened {
            AckResult::News
        } else {
            AckResult::Nothing
        }
    }

    /// Marks requested packets to be sent again. Returns false if the packet requests nothing, or nothing new.
    fn follow(&mut self, data: &Data<C>, position: u64, received: &mut Received) -> bool {
        let heard = self.cycle.heard(data.reply);
        if data.flags.cause {
            let cause = self.numbers.position(data.negative, position);
            let cause = cause.filter(|cause| (position..self.next).contains(cause));
            self.told.hole_end = cause.unwrap_or(position);
            if let Some(cause) = cause.filter(|cause| *cause > position) {
                self.flight.arrived(cause);
            }
        } else {
            let end = position + u64::from(data.negative);
            self.told.hole_end = end.min(self.next);
        }
        if !data.flags.request && self.told.duplicates < DUPLICATES {
            return self.infer(data, heard);
        }
        if !self.cycle.follows(heard) {
            received.ignored += 1;
            return false;
        }
        self.told.duplicates = 0;
        // A request that reports no hole means the next packet.
        let first = position..self.told.hole_end.max(position + 1);
        let mut any = self.mark(&first, heard);
        for hole in data.further.as_slice() {
            let start = position + u64::from(hole.offset);
            let range = start..start + u64::from(hole.length);
            any |= self.mark(&range, heard);
        }
        if any {
            received.followed += 1;
            self.begin_repair();
        } else {
            received.ignored += 1;
        }
        any
    }

    /// Infers losses from an acknowledgement without holes: nothing beyond it has arrived, so packets sent before the
    /// last one that the peer received are lost. Returns true if there are any.
    fn infer(&mut self, data: &Data<C>, heard: u64) -> bool {
        let tells_of_none = data.negative == 0 && data.further.as_slice().is_empty();
        let lost = |piece: &Piece<C>| piece.cycle < heard;
        let any = self.flight.oldest().is_some_and(lost);
        if !any || !tells_of_none || data.flags.cause || !self.cycle.numbers_packets() {
            return false;
        }
        let all = self.flight.acknowledged()..self.next;
        self.mark(&all, heard)
    }

    fn mark(&mut self, range: &Range<u64>, heard: u64) -> bool {
        let cycle = self.cycle;
        let lost = |piece: &Piece<C>| cycle.is_lost(piece.cycle, piece.resent, heard);
        self.flight.mark(range, lost)
    }

    fn begin_repair(&mut self) {
        self.cycle.begin();
        if !self.cycle.numbers_packets() {
            self.clock.round_trip.forget();
        }
    }

    /// Has everything repaired that is not known to have arrived.
    fn repair_all(&mut self) {
        let all = self.flight.acknowledged()..self.next;
        self.flight.mark(&all, |_| true);
        self.begin_repair();
    }

    /// Handles a timeout of the retransmission timer. Returns true if the repair must poll.
    pub(crate) fn time_out(&mut self, now: Instant) -> bool {
        self.flight.forget_repairs();
        self.clock.round_trip.forget();
        let start = self.flight.acknowledged();
        let known_end = Some(self.told.hole_end).filter(|end| *end > start);
        let range = match self.repair.on_timeout {
            OnTimeout::Burst => start..known_end.unwrap_or(self.next),
            OnTimeout::Oldest => start..start + 1,
        };
        self.flight.mark(&range, |_| true);
        self.begin_repair();
        self.told.duplicates = 0;
        self.clock.went_off(now);
        if !self.flight.has_due() {
            self.restart_clock(now);
        }
        self.repair.on_timeout == OnTimeout::Oldest && !self.repair.follow_repairs
    }

    /// Returns the next packet with data that may go out now, with at most `most` bytes of them: repairs first, so
    /// that every packet of a cycle comes after them.
    pub(crate) fn choose(&mut self, now: Instant, most: u64) -> Option<Outgoing<C>> {
        let repair = self.choose_repair(most);
        let outgoing = repair.or_else(|| self.choose_new(now, most))?;
        if !self.clock.is_lean() && self.cycle.numbers_packets() {
            self.clock.round_trip.time_packet(outgoing.cycle, now);
        }
        self.sent.data_packets += 1;
        self.sent.bytes += outgoing.content.length();
        if self.clock.deadline.is_none() || self.clock.is_for_tails() {
            self.restart_clock(now);
        }
        Some(outgoing)
    }

    /// Starts the retransmission timer. The peer delays acknowledgements of fewer packets than it acknowledges at
    /// once, unless one of them polls (RFC 8985 §7.2 assumes one); in a wide window it may delay those of more
    /// packets for a while.
    fn restart_clock(&mut self, now: Instant) {
        let Peer {
            window, segment, ..
        } = self.peer;
        let spaced = told_at_once(window, segment) > 2 * segment;
        let held = match (self.flight.pieces() < self.peer.every, spaced) {
            _ if self.wants_follower() => Held::Not,
            (true, _) => Held::Alone,
            (false, true) => Held::Spaced,
            (false, false) => Held::Not,
        };
        self.clock.restart(held, now);
    }

    fn choose_repair(&mut self, most: u64) -> Option<Outgoing<C>> {
        let piece = self.flight.next_due(most)?;
        piece.cycle = self.cycle.stamp();
        self.told.ends_with_repair = true;
        self.sent.repairs += 1;
        self.sent.repaired_bytes += piece.content.length();
        Some(Outgoing {
            start: piece.start,
            content: piece.content.clone(),
            fin: piece.fin,
            cycle: piece.cycle,
        })
    }

    fn choose_new(&mut self, now: Instant, most: u64) -> Option<Outgoing<C>> {
        let length = self.next_length()?.min(most);
        let content = self.unsent.take_front(length);
        let fin = self.ending == Ending::Closed && self.unsent.length() == 0;
        if fin {
            self.ending = Ending::Sent;
        }
        let (start, cycle) = (self.next, self.cycle.stamp());
        self.told.ends_with_repair = false;
        self.next += length + u64::from(fin);
        let piece = Piece::new(start, content.clone(), fin, cycle);
        self.flight.push(piece);
        if !self.clock.is_lean() && !self.cycle.numbers_packets() {
            self.clock.round_trip.time(self.next, now);
        }
        Some(Outgoing {
            start,
            content,
            fin,
            cycle,
        })
    }

    /// Returns true if more data can go out now.
    pub(crate) fn can_send(&self) -> bool {
        self.flight.has_due() || self.next_length().is_some()
    }

    /// Returns the length of the next packet of new data, in bytes, if it may be sent. A nearly closed window does
    /// not cause a short packet (RFC 9293 §3.8.6.2.1).
    fn next_length(&self) -> Option<u64> {
        let unsent = self.unsent.length();
        if self.flight.pieces() >= PIECES_MAX {
            return None;
        }
        if unsent == 0 {
            return (self.ending == Ending::Closed).then_some(0);
        }
        let room = self.peer.edge.saturating_sub(self.next);
        let length = unsent.min(self.peer.segment).min(room);
        let whole = length == unsent || length == self.peer.segment;
        (length > 0 && (whole || 2 * length >= self.peer.window)).then_some(length)
    }
}
