//! The receiving half: reassembly, the window, requests for missing data, and the times of acknowledgements.

mod growth;
mod held;
mod order;
mod pace;
mod reach;
mod ready;
mod report;
mod size;
mod state;

use std::ops::Range;

use redirector::Content;
use units::{Duration, Instant};

use crate::config::{Acknowledging, Clock, Repair};
use crate::counters::Received;
use crate::numbers::Numbers;
use crate::packet::Data;
use crate::tick::{Ticks, acknowledgment_delay};
use crate::{Config, Profile};
use held::{Held, Run};
use order::Order;
use pace::Pace;
pub(crate) use pace::told_at_once;
pub(crate) use reach::Arrival;
use reach::Reach;
use ready::Ready;
use size::Size;

/// Number of buffer bytes for each piece of a stream that may be kept. It bounds the cost of tiny packets beyond
/// their bytes.
const BYTES_PER_PIECE: u64 = 64;

/// Acknowledgements that are due.
#[derive(Debug, Clone, Copy, Default)]
struct PendingAck {
    /// Set if one is due at once.
    now: bool,
    /// Number of packets that wait to be acknowledged.
    waiting: u32,
    /// Time at which they have waited long enough.
    at: Option<Instant>,
    /// Set if the acknowledgement requests the retransmission of missing data.
    request: bool,
    /// Number of times that the acknowledgement is repeated.
    again: u32,
}

/// Progress of the stream towards the peer and the application, in positions.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Next position that is expected.
    next: u64,
    /// End of the announced window.
    edge: u64,
    /// End of the stream, once it is known.
    fin: Option<u64>,
    /// End of the data that the peer is known to have sent.
    sent: u64,
    /// End of the data that were reported to the application.
    told: u64,
}

/// Content of acknowledgements besides their number.
#[derive(Debug, Clone, Copy, Default)]
struct Cause {
    /// Cycle of the last arrival.
    cycle: u16,
    /// Start of the last arrival with data.
    position: u64,
    /// End of the last first hole that was requested.
    asked: u64,
    /// Position after which the next further holes are reported: they take turns.
    turn: u64,
    /// Cycle of the last packet that the peer had received at its last poll.
    polled: Option<u16>,
}

/// Receiver of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Receiver<C> {
    pub(crate) numbers: Numbers,
    progress: Progress,
    ready: Ready<C>,
    held: Held<C>,
    size: Size,
    due: PendingAck,
    order: Order,
    reach: Reach,
    pace: Pace,
    cause: Cause,
    rules: Rules,
    pub(crate) received: Received,
}

/// Settings of a receiver.
#[derive(Debug, Clone)]
struct Rules {
    acknowledging: Acknowledging,
    repair: Repair,
    /// Clock of delayed acknowledgements in this profile, and if only proven losses are requested at once.
    clock: Clock,
    news_only: bool,
    /// True if each packet has its own number.
    numbered: bool,
    /// Round-trip time of the hop, once it is known.
    round_trip: Option<Duration>,
    ticks: Ticks,
    lean: bool,
    /// Least time between acknowledgements of packets that come fast.
    spacing: Duration,
    /// Maximum data of a packet, in bytes.
    segment: u64,
}

impl Rules {
    /// Applies the settings that need packets with their own numbers, in the wide profile only.
    fn follow(&mut self, config: &Config, profile: Profile) {
        self.numbered = profile == Profile::Wide;
        self.round_trip = config.timing.expected;
        self.news_only = config.repair.news_only && profile == Profile::Wide;
        self.clock = config.acknowledging.clock.within(profile);
        self.spacing = if profile == Profile::Wide && !self.lean {
            config.acknowledging.spacing
        } else {
            Duration::ZERO
        };
    }
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
            due: PendingAck::default(),
            order: Order::default(),
            reach: Reach::default(),
            pace: Pace::default(),
            cause: Cause::default(),
            rules: Rules {
                acknowledging: config.acknowledging.clone(),
                repair: config.repair.clone(),
                clock: Clock::Ticks,
                news_only: false,
                numbered: false,
                round_trip: None,
                ticks: Ticks::new(&config.timing),
                lean: config.lean,
                spacing: Duration::ZERO,
                segment: (usize::from(config.packet) - profile.header_length()) as u64,
            },
            received: Received::default(),
        };
        receiver.agreed(config, profile, 0);
        receiver
    }

    /// Applies the parameters of the handshake: `profile`, and the number `first` of the peer's SYN.
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
        self.rules.follow(config, profile);
    }

    /// Returns the position that is expected next.
    pub(crate) fn next(&self) -> u64 {
        self.progress.next
    }

    /// Returns the number of positions in the window.
    pub(crate) fn window(&self) -> u64 {
        self.progress.edge.saturating_sub(self.progress.next)
    }

    /// Returns the time at which waiting packets are acknowledged, or overtaken ones are lost.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let lost = self.order.deadline();
        machine::earlier(self.due.at, lost.filter(|_| !self.rules.lean))
    }

    /// Acknowledges the packets that have waited long enough, and requests those that were overtaken long enough ago.
    /// Returns true if there are any.
    pub(crate) fn time_out(&mut self, now: Instant) -> bool {
        let due = self.due.at.take_if(|at| *at <= now).is_some();
        let lost = self.order.give_up(now) && self.has_hole();
        if lost {
            self.ask();
        }
        self.due.now |= due;
        due || lost
    }

    /// Takes in the data of a packet; `answers` is set if it may be the answer to a poll. Returns true if the packet
    /// brought anything new.
    pub(crate) fn take(
        &mut self,
        data: &Data<C>,
        content: C,
        answers: bool,
        arrival: Arrival,
    ) -> bool {
        let duplicates = self.received.duplicates;
        let news = self.take_in(data, content, answers, arrival);
        let needless = self.received.duplicates > duplicates;
        self.order.taken(needless, arrival.at);
        news
    }

    fn take_in(&mut self, data: &Data<C>, content: C, answers: bool, arrival: Arrival) -> bool {
        let now = arrival.at;
        // Whatever is lost leaves a gap between the numbers of two arrivals.
        let lost = self.rules.numbered && {
            self.order.arrived(data.cycle, self.rules.round_trip, now);
            self.order.give_up(now)
        };
        self.cause.cycle = data.cycle;
        let (next, length) = (self.progress.next, content.length());
        let position = |near| self.numbers.position(data.sequence, near);
        let Some(start) = arrival.near.and_then(position) else {
            self.received.duplicates += 1;
            return false;
        };
        let end = start + length;
        if length == 0 && !data.flags.fin {
            return self.hear_of(end, answers || data.flags.poll);
        }
        self.pace.note(lost, now);
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
        let out_of_order = start > next;
        let asks = if self.rules.news_only {
            lost || (start > self.progress.sent && !self.order.waits())
        } else {
            out_of_order
        };
        if data.flags.fin {
            self.progress.fin = Some(end);
            self.progress.sent = beyond;
        }
        self.progress.sent = self.progress.sent.max(beyond);
        let news = if out_of_order {
            self.hold(start, content)
        } else {
            self.continue_with(start, content, now);
            true
        };
        // Whatever was lost, the sender needs an acknowledgement.
        self.due.now |= self.rules.news_only && lost;
        if asks && self.has_hole() {
            self.ask();
        } else if out_of_order {
            self.wait_for_more(now);
        }
        self.size.arrived += if news { end - start.max(next) } else { 0 };
        news
    }

    /// Returns true if the data of this range exceed the agreed limits or the limit of pieces.
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

    /// Notes that the peer has sent everything before `end`. Returns true if that is new. If some of it is missing,
    /// it is lost, since the hop keeps the order, and is requested: if it is new, or if the packet is a poll or its
    /// answer (`counts`). So two ends that both miss data do not send each other requests for ever.
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

    /// Takes in data that continue the stream.
    fn continue_with(&mut self, start: u64, mut content: C, now: Instant) {
        let before = self.progress.next;
        content.take_front(before - start);
        let had_hole = !self.held.is_empty() || self.progress.sent > before + content.length();
        if content.length() > 0 {
            self.append(Run { content, pieces: 1 });
        }
        let mut closed = false;
        while let Some(run) = self.held.take_at(self.progress.next) {
            self.append(run);
            closed = true;
        }
        if self.progress.fin == Some(self.progress.next) {
            self.progress.next += 1;
            self.due.now = true;
        }
        self.wait_for_more(now);
        if self.rules.news_only {
            self.due.now |= closed && !self.order.waits();
            return;
        }
        if had_hole {
            // A hole is filled, in part at least: the sender needs to know at once.
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

    /// Counts a packet that waits to be acknowledged.
    fn wait_for_more(&mut self, now: Instant) {
        let settings = &self.rules.acknowledging;
        self.due.waiting += 1;
        let waiting = u64::from(self.due.waiting);
        let many = self.due.waiting >= settings.every || !settings.delayed;
        let spaced = self.pace.reported + self.rules.spacing;
        let much = waiting * self.rules.segment >= self.much();
        if many && (much || spaced <= now) {
            self.due.now = true;
        } else if many {
            self.due.at = machine::earlier(self.due.at, Some(spaced));
        } else if self.due.at.is_none() && !self.rules.lean {
            self.due.at = Some(match self.rules.clock {
                Clock::Ticks => self.rules.ticks.next(now),
                Clock::Measured => now + acknowledgment_delay(self.pace.gap),
            });
        }
    }

    /// Returns the number of bytes after which an acknowledgement is worth a packet.
    fn much(&self) -> u64 {
        let segment = self.rules.segment;
        if self.rules.spacing.is_zero() {
            2 * segment
        } else {
            told_at_once(self.size.buffer, segment)
        }
    }

    /// Keeps data or a FIN beyond a hole. Returns true if any of it is new.
    fn hold(&mut self, start: u64, content: C) -> bool {
        let is_end = content.length() == 0;
        let news = self.held.insert(start, content) || is_end;
        if news {
            self.received.out_of_order += 1;
        } else {
            self.received.duplicates += 1;
        }
        news
    }

    /// Requests the missing data at once.
    fn ask(&mut self) {
        self.due.now = true;
        self.due.request = self.rules.repair.request;
        self.cause.asked = self.progress.next + self.first_hole();
    }

    /// Returns true if every packet repeats the request for missing data: a request may be lost.
    fn asks_again(&self) -> bool {
        self.rules.repair.request && self.has_hole()
    }

    /// Makes every packet request missing data: a peer without timers retransmits only on request.
    pub(crate) fn must_ask(&mut self) {
        self.rules.repair.request = true;
    }

    /// Returns true if data are known to be missing.
    pub(crate) fn has_hole(&self) -> bool {
        self.first_hole() > 0
    }

    /// Returns the length of the hole at the acknowledgement number; 0 if there is none.
    fn first_hole(&self) -> u64 {
        let end = self.held.start().unwrap_or(self.progress.sent);
        end.saturating_sub(self.progress.next)
    }

    /// Takes up to `count` bytes for the application.
    pub(crate) fn read(&mut self, count: u64) -> C {
        self.ready.take(count)
    }

    /// Returns the number of bytes that the application can read.
    pub(crate) fn readable(&self) -> u64 {
        self.ready.length()
    }

    /// Returns the buffered bytes of the stream.
    pub(crate) fn held(&self) -> u64 {
        self.ready.length() + self.held.length()
    }

    /// Drops the buffered data, which will not be read.
    pub(crate) fn discard(&mut self) {
        self.ready = Ready::new();
        self.held = Held::new();
    }

    /// Returns the number of readable bytes if they were not all reported to the application yet, and marks them as
    /// reported.
    pub(crate) fn tell(&mut self) -> Option<u64> {
        let end = self.progress.next - u64::from(self.is_finished());
        (end > self.progress.told).then(|| {
            self.progress.told = end;
            self.ready.length()
        })
    }

    /// Returns true if the peer has finished, and all of its stream has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.progress
            .fin
            .is_some_and(|fin| fin < self.progress.next)
    }

    /// Makes an acknowledgement due at once.
    pub(crate) fn acknowledge_now(&mut self) {
        self.due.now = true;
    }

    /// Answers a poll. The last packet that the peer has received is that of the cycle `reply`, `unheard` packets
    /// ago. If its poll before reported the same, those packets are lost, and the answer goes out as many times: if
    /// the air changes with the bits that cross it, single answers would be lost too, each after a timeout. All
    /// answers together take no more bytes than a packet with data, which the peer sent with its poll.
    pub(crate) fn answer(&mut self, reply: u16, unheard: u64) {
        self.due.now = true;
        let same = self.cause.polled.replace(reply) == Some(reply);
        if same && self.rules.repair.repeat_answers {
            let most = self.rules.segment / Profile::Wide.header_length() as u64;
            self.due.again = unheard.min(most).saturating_sub(1) as u32;
        }
    }

    /// Returns true if an acknowledgement must go out now: also if the application has taken enough to announce a
    /// larger window, usually two packets, or half of the buffer.
    pub(crate) fn acknowledges_now(&self) -> bool {
        let more = self.window_end().saturating_sub(self.progress.edge);
        let opens = more > 0 && (more >= self.much() || 2 * more >= self.size.buffer);
        self.due.now || (opens && !self.is_finished())
    }

    /// Returns the end of the window: the end of the free buffer, and never before the end announced already.
    fn window_end(&self) -> u64 {
        let taken = self.progress.next - u64::from(self.is_finished()) - self.ready.length();
        (taken + self.size.buffer).max(self.progress.edge)
    }
}
