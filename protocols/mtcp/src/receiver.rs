//! The receiving half: reassembly, the window, what is asked for, and when to acknowledge.

mod growth;
mod held;
mod ready;
mod size;
mod state;

use std::ops::Range;

use redirector::Content;
use units::Instant;

use crate::config::{Acknowledging, Repair, Selective};
use crate::counters::Received;
use crate::numbers::Numbers;
use crate::packet::{Data, Hole, Holes};
use crate::tick::Ticks;
use crate::{Config, Profile};
use held::{Held, Run};
use ready::Ready;
use size::Size;

/// Pieces that are kept of a stream, at most, as a share of its buffer: one for so many bytes. It bounds what tiny
/// packets cost beyond their bytes.
const BYTES_PER_PIECE: u64 = 64;

/// What is to be acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Due {
    /// At once.
    now: bool,
    /// So many packets wait.
    waiting: u32,
    /// When they have waited long enough.
    at: Option<Instant>,
    /// With a request to send again what is missing.
    request: bool,
    /// So many times more.
    again: u32,
}

/// What the other end and the application know of the stream, in positions.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// The next that is expected.
    next: u64,
    /// Where the window ends that was announced.
    edge: u64,
    /// The end of the stream, if it was seen.
    fin: Option<u64>,
    /// The end of what the other end is known to have sent.
    sent: u64,
    /// What the application was told of.
    told: u64,
}

/// What acknowledgements tell besides their number.
#[derive(Debug, Clone, Copy, Default)]
struct Cause {
    /// The cycle of the last arrival.
    cycle: u16,
    /// Where the last arrival with data began.
    position: u64,
    /// The end of the last first hole that was asked for.
    asked: u64,
    /// Further holes are told of in turn: those after this position are next.
    turn: u64,
    /// What the other end had heard last when it asked for an answer.
    polled: Option<u16>,
}

/// What a packet tells of the other direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) acknowledgment: u32,
    pub(crate) window: u16,
    pub(crate) negative: u32,
    pub(crate) further: Holes,
    pub(crate) request: bool,
    pub(crate) cause: bool,
    pub(crate) reply: u16,
}

/// The receiver of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Receiver<C> {
    pub(crate) numbers: Numbers,
    progress: Progress,
    ready: Ready<C>,
    held: Held<C>,
    size: Size,
    due: Due,
    cause: Cause,
    rules: Rules,
    pub(crate) received: Received,
}

/// How it behaves.
#[derive(Debug, Clone)]
struct Rules {
    acknowledging: Acknowledging,
    repair: Repair,
    ticks: Ticks,
    lean: bool,
    /// The longest data of a packet, in bytes.
    segment: u64,
}

impl<C: Content> Receiver<C> {
    pub(crate) fn new(config: &Config, profile: Profile) -> Self {
        let mut receiver = Self {
            numbers: Numbers::new(0, profile),
            progress: Progress {
                next: 1,
                edge: 1,
                fin: None,
                sent: 1,
                told: 1,
            },
            ready: Ready::new(),
            held: Held::new(),
            size: Size::default(),
            due: Due::default(),
            cause: Cause::default(),
            rules: Rules {
                acknowledging: config.acknowledging.clone(),
                repair: config.repair.clone(),
                ticks: Ticks::new(&config.timing),
                lean: config.lean,
                segment: (usize::from(config.packet) - profile.header_length()) as u64,
            },
            received: Received::default(),
        };
        receiver.agreed(config, profile, 0);
        receiver
    }

    /// The handshake agreed on `profile`; the other end's SYN has the number `first`.
    pub(crate) fn agreed(&mut self, config: &Config, profile: Profile, first: u32) {
        let largest = config.largest_buffer(profile);
        self.numbers = Numbers::new(first, profile);
        self.size = Size {
            buffer: config.buffer(profile).into(),
            most: largest.into(),
            shift: profile.window_shift(largest),
            ..Size::default()
        };
        self.progress.edge = 1 + self.size.buffer;
        self.rules.segment = (usize::from(config.packet) - profile.header_length()) as u64;
    }

    /// The position that is expected next.
    pub(crate) fn next(&self) -> u64 {
        self.progress.next
    }

    /// How many positions the window spans.
    pub(crate) fn window(&self) -> u64 {
        self.progress.edge.saturating_sub(self.progress.next)
    }

    /// When what waits is acknowledged.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.due.at
    }

    /// Acknowledges what has waited long enough.
    pub(crate) fn time_out(&mut self, now: Instant) -> bool {
        let due = self.due.at.take_if(|at| *at <= now).is_some();
        self.due.now |= due;
        due
    }

    /// Takes a packet's data in; `answers` if it may be the answer to a poll. True if they are news.
    pub(crate) fn take(&mut self, data: &Data<C>, content: C, answers: bool, now: Instant) -> bool {
        self.cause.cycle = data.cycle;
        let (next, length) = (self.progress.next, content.length());
        let Some(start) = self.numbers.position(data.sequence, next) else {
            self.received.duplicates += 1;
            return false;
        };
        let end = start + length;
        if length == 0 && !data.flags.fin {
            return self.hear_of(end, answers || data.flags.poll);
        }
        if self.violates(start..end, data.flags.fin) {
            self.received.violations += 1;
            self.due.now = true;
            return false;
        }
        let beyond = end + u64::from(data.flags.fin);
        self.cause.position = start;
        if beyond <= next {
            self.received.duplicates += 1;
            self.due.now = true;
            return false;
        }
        if data.flags.fin {
            self.progress.fin = Some(end);
            self.progress.sent = beyond;
        }
        self.progress.sent = self.progress.sent.max(beyond);
        let news = if start <= next {
            self.continue_with(start, content, now);
            true
        } else {
            self.hold(start, content)
        };
        self.size.arrived += if news { end - start.max(next) } else { 0 };
        news
    }

    /// Whether data of this range are more than is agreed on, or than is kept in pieces.
    fn violates(&self, range: Range<u64>, fin: bool) -> bool {
        let progress = &self.progress;
        let (end, length) = (range.end, range.end - range.start);
        let beyond_end = match progress.fin {
            Some(known) => end > known || (fin && end < known),
            None => fin && self.held.end().unwrap_or(progress.next) > end,
        };
        let pieces_max = self.size.buffer.div_ceil(BYTES_PER_PIECE);
        let in_order = range.start <= progress.next;
        let held = if in_order { 0 } else { self.held.pieces() };
        let crowded = (self.ready.pieces() + held) as u64 >= pieces_max;
        let beyond_window = length > 0 && end > progress.edge;
        beyond_window || length > self.rules.segment || beyond_end || (length > 0 && crowded)
    }

    /// The other end says that it has sent everything before `end`. It is out of order if something of that is
    /// missing: on a hop that keeps the order, it is lost. Two ends that both miss something do not ask each other
    /// for ever, as only news, polls and their answers count.
    fn hear_of(&mut self, end: u64, counts: bool) -> bool {
        let last = self.progress.fin.unwrap_or(self.progress.edge);
        let possible = end <= last + 1;
        let news = possible && end > self.progress.sent;
        if news {
            self.progress.sent = end;
        }
        if possible && end > self.progress.next && (news || counts) {
            self.ask();
        }
        news
    }

    /// The stream goes on.
    fn continue_with(&mut self, start: u64, mut content: C, now: Instant) {
        let before = self.progress.next;
        content.take_front(before - start);
        let had_hole = !self.held.is_empty() || self.progress.sent > before + content.length();
        if content.length() > 0 {
            self.append(Run { content, pieces: 1 });
        }
        while let Some(run) = self.held.take_at(self.progress.next) {
            self.append(run);
        }
        if self.progress.fin == Some(self.progress.next) {
            self.progress.next += 1;
            self.due.now = true;
        }
        self.wait_for_more(now);
        if had_hole {
            // A hole is filled, in part at least: the sender wants to know at once.
            self.due.now = true;
        }
        let hole_end = self.progress.next + self.first_hole();
        if self.rules.repair.next_hole && self.first_hole() > 0 && hole_end > self.cause.asked {
            self.ask();
        }
    }

    fn append(&mut self, run: Run<C>) {
        let length = run.content.length();
        self.progress.next += length;
        self.received.bytes += length;
        self.ready.append(run);
    }

    /// A packet more waits to be acknowledged.
    fn wait_for_more(&mut self, now: Instant) {
        let settings = &self.rules.acknowledging;
        self.due.waiting += 1;
        if self.due.waiting >= settings.every || !settings.delayed {
            self.due.now = true;
        } else if self.due.at.is_none() && !self.rules.lean {
            self.due.at = Some(self.rules.ticks.next(now));
        }
    }

    /// Data lie beyond a hole.
    fn hold(&mut self, start: u64, content: C) -> bool {
        let is_end = content.length() == 0;
        let news = self.held.insert(start, content) || is_end;
        if news {
            self.received.out_of_order += 1;
        } else {
            self.received.duplicates += 1;
        }
        self.ask();
        news
    }

    /// Asks for what is missing, at once.
    fn ask(&mut self) {
        self.due.now = true;
        self.due.request = self.rules.repair.request;
        self.cause.asked = self.progress.next + self.first_hole();
    }

    /// The other end keeps no timers, so what it does not see asked for it never sends again.
    pub(crate) fn must_ask(&mut self) {
        self.rules.repair.request = true;
    }

    /// Whether something is known to be missing.
    pub(crate) fn has_hole(&self) -> bool {
        self.first_hole() > 0
    }

    /// The length of the hole at the acknowledgement number; 0 if there is none.
    fn first_hole(&self) -> u64 {
        let end = self.held.start().unwrap_or(self.progress.sent);
        end.saturating_sub(self.progress.next)
    }

    /// The application takes up to `count` bytes.
    pub(crate) fn read(&mut self, count: u64) -> C {
        self.ready.take(count)
    }

    /// Bytes that the application can read.
    pub(crate) fn readable(&self) -> u64 {
        self.ready.length()
    }

    /// What is held of the stream, in bytes.
    pub(crate) fn held(&self) -> u64 {
        self.ready.length() + self.held.length()
    }

    /// Forgets what is held of the stream, which nobody reads.
    pub(crate) fn discard(&mut self) {
        self.ready = Ready::new();
        self.held = Held::new();
    }

    /// Bytes that can be read, if the application was not told of all of them; it is now.
    pub(crate) fn tell(&mut self) -> Option<u64> {
        let end = self.progress.next - u64::from(self.is_finished());
        (end > self.progress.told).then(|| {
            self.progress.told = end;
            self.ready.length()
        })
    }

    /// Whether the other end has finished, and all of its stream has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.progress
            .fin
            .is_some_and(|fin| fin < self.progress.next)
    }

    /// Asks for an acknowledgement.
    pub(crate) fn acknowledge_now(&mut self) {
        self.due.now = true;
    }

    /// The other end asks for an answer. The last packet that it heard is that of the cycle `reply`, `unheard` packets
    /// ago. If it said the same when it asked before, those are lost, and the answer goes out as many times: where the
    /// air changes with the bits that cross it, one by one they would be lost too, each after a timeout. All of them
    /// take no more bytes than a packet with data, which the other end sent with its question.
    pub(crate) fn answer(&mut self, reply: u16, unheard: u64) {
        self.due.now = true;
        let same = self.cause.polled.replace(reply) == Some(reply);
        if same && self.rules.repair.repeat_answers {
            let most = self.rules.segment / Profile::Wide.header_length() as u64;
            self.due.again = unheard.min(most).saturating_sub(1) as u32;
        }
    }

    /// Whether an acknowledgement must go out now: also when the application took enough to announce it, which is
    /// two packets or half of the buffer.
    pub(crate) fn acknowledges_now(&self) -> bool {
        let more = self.window_end().saturating_sub(self.progress.edge);
        let opens = more > 0 && (more >= 2 * self.rules.segment || 2 * more >= self.size.buffer);
        self.due.now || (opens && !self.is_finished())
    }

    /// Where the window may end: behind what finds room, and never before what was announced.
    fn window_end(&self) -> u64 {
        let taken = self.progress.next - u64::from(self.is_finished()) - self.ready.length();
        (taken + self.size.buffer).max(self.progress.edge)
    }

    /// What a packet tells of this direction, with room for so many further holes. All that waited is acknowledged
    /// by this.
    pub(crate) fn report(&mut self, room: usize) -> Report {
        let due = std::mem::take(&mut self.due);
        self.due.now = due.again > 0;
        self.due.again = due.again.saturating_sub(1);
        let next = self.progress.next;
        let window = self.window_end().saturating_sub(next) >> self.size.shift;
        let window = window.min(u16::MAX.into()) as u16;
        let announced = next + (u64::from(window) << self.size.shift);
        self.progress.edge = self.progress.edge.max(announced);
        let selective = self.rules.repair.selective;
        let negative = match selective {
            Selective::Burst => self.first_hole() as u32,
            Selective::Cumulative => 0,
            Selective::Smart => self.numbers.number(self.cause.position),
        };
        let room = room.min(self.rules.repair.further_holes);
        let further = if selective == Selective::Burst && room > 0 && !self.held.is_empty() {
            self.further_holes(room)
        } else {
            Holes::default()
        };
        Report {
            acknowledgment: self.numbers.number(next),
            window,
            negative,
            further,
            request: due.request,
            cause: selective == Selective::Smart,
            reply: self.cause.cycle,
        }
    }

    /// Up to `room` holes besides the first: the last one, which has had the fewest chances to be heard of, and
    /// others in turn.
    fn further_holes(&mut self, room: usize) -> Holes {
        let mut holes = Holes::default();
        let next = self.progress.next;
        let Some((last, last_end)) = self.held.last_hole() else {
            return holes;
        };
        let hole = |start: u64, end: u64| Hole {
            offset: (start - next) as u32,
            length: (end - start) as u32,
        };
        holes.push(hole(last, last_end));
        for _ in 1..room {
            let first = self.held.start().unwrap_or(next);
            let turn = self.cause.turn.max(first);
            let found = self.held.hole_after(turn);
            let found = found.or_else(|| self.held.hole_after(first));
            let Some((start, end)) = found else { break };
            self.cause.turn = if start == last { first } else { end };
            let seen = |told: &Hole| u64::from(told.offset) == start - next;
            if holes.as_slice().iter().any(seen) {
                break;
            }
            holes.push(hole(start, end));
        }
        holes
    }
}
