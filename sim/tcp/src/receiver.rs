//! The receiving half: reassembly, the advertised window, and the timing of acknowledgements.

mod feedback;

use units::{Duration, Instant, RangeSet, SeqNumber};
use wire::tcp::{SeqRange, TcpSegmentOptions};

use crate::Config;
use crate::config::Acknowledging;
use crate::counters::Received;
use crate::numbers::Numbers;
use crate::span::Span;
use feedback::Reporter;

/// Largest window that a header can hold.
const WINDOW_MAX: u64 = 65_535;
/// Smallest limit of ranges held beyond gaps: more than a window of 64 KiB can have.
const RANGES: usize = 256;
/// Bytes of the buffer for each range beyond that limit.
const BYTES_EACH: u64 = 4_096;

/// Progress of the stream, in positions.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Next position expected.
    next: u64,
    /// Next position that the application reads.
    taken: u64,
    /// End of the window advertised last.
    announced: u64,
    /// Position of the FIN, if it was received.
    fin: Option<u64>,
    /// End of the data reported to the application.
    told: u64,
}

/// Acknowledgement that is due.
#[derive(Debug, Clone, Copy, Default)]
struct PendingAck {
    /// True if it is due at once.
    now: bool,
    /// Number of segments that wait for it.
    waiting: u32,
    /// Time at which the delayed acknowledgement is due.
    at: Option<Instant>,
}

/// The receiver of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    pub(crate) numbers: Numbers,
    progress: Progress,
    buffer: u64,
    scale: u8,
    segment: u64,
    held: RangeSet,
    acknowledging: Acknowledging,
    phase: Duration,
    due: PendingAck,
    reporter: Reporter,
    pub(crate) received: Received,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let buffer = config.buffer(config.receive_buffer);
        Self {
            numbers: Numbers::new(SeqNumber(0)),
            progress: Progress {
                next: 0,
                taken: 1,
                announced: 0,
                fin: None,
                told: 1,
            },
            buffer,
            scale: 0,
            segment: config.maximum_segment_size.into(),
            held: RangeSet::default(),
            acknowledging: config.acknowledging.clone(),
            phase: config.timing.phase,
            due: PendingAck::default(),
            reporter: Reporter::new(&config.feedback),
            received: Received::default(),
        }
    }

    /// Processes the peer's SYN.
    pub(crate) fn synchronize(&mut self, first: SeqNumber, segment: u64) {
        self.numbers = Numbers::new(first);
        self.progress.next = 1;
        // End of the window that this end's SYN has advertised, or will advertise.
        self.progress.announced = 1 + self.buffer.min(WINDOW_MAX);
        self.segment = segment;
        self.due.now = true;
    }

    /// Sets the negotiated scale of this end's windows, and the permission of selective acknowledgements.
    pub(crate) fn agreed(&mut self, scale: u8, sack_permitted: bool) {
        self.scale = scale;
        self.reporter.sack_permitted = sack_permitted;
    }

    /// Returns true if the peer's SYN has arrived.
    pub(crate) fn is_synchronized(&self) -> bool {
        self.progress.next > 0
    }

    /// Returns the sequence number that is expected next.
    pub(crate) fn acknowledgment(&self) -> SeqNumber {
        self.numbers.number(self.progress.next)
    }

    /// Returns true if a segment of `length` numbers from `number` on lies in the window, at least in part (RFC 9293
    /// §3.10.7.4).
    pub(crate) fn accepts(&self, number: SeqNumber, length: u32) -> bool {
        let window = (self.progress.announced - self.progress.next) as i64;
        let start = self.numbers.ahead(number, self.progress.next);
        let last = start + i64::from(length) - 1;
        let within = |position: i64| 0 <= position && position < window;
        match (length, window) {
            (0, 0) => start == 0,
            (0, _) => within(start) || start == window,
            (_, 0) => false,
            _ => within(start) || within(last) || (start < 0 && last >= window),
        }
    }

    /// Processes accepted data: `range` in sequence numbers, and true if the FIN follows them.
    pub(crate) fn take(&mut self, range: SeqRange, fin: bool, now: Instant) {
        let near = self.progress.next;
        let start = self.numbers.ahead(range.start, near);
        let length = range.length();
        let end = (near as i64 + start + i64::from(length)).max(0) as u64;
        let first = near.saturating_add_signed(start.max(0));
        let limit = self.progress.fin.unwrap_or(u64::MAX);
        let span = Span::new(first, end.min(self.progress.announced).min(limit));
        if fin && end <= self.progress.announced && end >= near && self.progress.fin.is_none() {
            let beyond = self.held.end().is_some_and(|held| held > end);
            self.progress.fin = (!beyond).then_some(end);
        }
        self.reporter.cause = Some(range.start);
        if length > 0 && span.is_empty() {
            self.received.duplicates += 1;
            self.due.now = true;
        }
        if span.start == near {
            self.continue_with(span, now);
        } else if !span.is_empty() {
            self.hold(span);
        }
        if fin {
            self.due.now = true;
        }
    }

    /// Continues the stream with data that are in order.
    fn continue_with(&mut self, span: Span, now: Instant) {
        let mut next = span.end.max(span.start);
        if !self.held.is_empty() {
            // A gap is filled, at least in part: the sender should learn this at once.
            self.due.now = true;
            if let Some(block) = self.held.range_at(next) {
                next = block.end;
            }
            self.held.remove(&(0..next));
        }
        if next > self.progress.next {
            self.received.bytes += next - self.progress.next;
            self.progress.next = next;
            self.reporter.arrived_before(next);
            self.wait_for_more(now);
        }
        if self.progress.fin == Some(next) {
            self.progress.next = next + 1;
        }
    }

    /// Delays the acknowledgement of one more segment.
    fn wait_for_more(&mut self, now: Instant) {
        let settings = &self.acknowledging;
        self.due.waiting += 1;
        if !settings.delayed || self.due.waiting >= settings.every {
            self.due.now = true;
        } else if self.due.at.is_none() {
            self.due.at = Some(if settings.aligned {
                settings.next_multiple(now, self.phase)
            } else {
                now + settings.delay
            });
        }
    }

    /// Holds data that lie beyond a gap.
    fn hold(&mut self, span: Span) {
        self.due.now = true;
        let most = RANGES.max((self.buffer / BYTES_EACH) as usize);
        if self.held.covers(&span.range()) {
            self.received.duplicates += 1;
        } else if self.held.insert_up_to(most, span.range()) > 0 {
            self.received.out_of_order += 1;
            self.reporter.arrived(span);
        }
        if let Some(block) = self.held.range_at(span.start) {
            self.reporter.beyond(span.start, block.into());
        }
    }

    /// Records that bytes were lost on the air.
    pub(crate) fn lost_on_air(&mut self, range: SeqRange) {
        let near = self.progress.next;
        let start = near.saturating_add_signed(self.numbers.ahead(range.start, near));
        let end = near.saturating_add_signed(self.numbers.ahead(range.end, near));
        let span = Span::new(start.max(near), end.min(self.progress.announced));
        if near > 0 && !span.is_empty() {
            self.reporter.lost(span, &self.held);
        }
    }

    /// Records that the application has read bytes.
    pub(crate) fn read(&mut self, bytes: u64) {
        let taken = self.progress.taken.saturating_add(bytes);
        self.progress.taken = taken.min(self.data_end());
    }

    /// Returns the number of bytes that can be read, if new ones have arrived since the last call.
    pub(crate) fn tell(&mut self) -> Option<u64> {
        let end = self.data_end();
        (end > self.progress.told).then(|| {
            self.progress.told = end;
            end - self.progress.taken
        })
    }

    /// Returns the position after the data that have arrived in order.
    fn data_end(&self) -> u64 {
        self.progress.next.max(1) - u64::from(self.is_finished())
    }

    /// Returns true if the peer has closed its stream, and all of it has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.progress
            .fin
            .is_some_and(|fin| fin < self.progress.next)
    }

    /// Returns true if an acknowledgement must be sent now.
    pub(crate) fn acknowledges_now(&self) -> bool {
        self.due.now || self.opens_window()
    }

    /// Returns true if the next acknowledgement shows a gap, so that it must carry no data to count as a duplicate.
    pub(crate) fn shows_gap(&self) -> bool {
        self.due.now && !self.held.is_empty()
    }

    /// Requests an acknowledgement.
    pub(crate) fn acknowledge_now(&mut self) {
        self.due.now = true;
    }

    /// Returns true if the application has read enough to advertise it: two segments, or half of the buffer.
    fn opens_window(&self) -> bool {
        let more = self.window_end().saturating_sub(self.progress.announced);
        more > 0 && (more >= 2 * self.segment || 2 * more >= self.buffer)
    }

    /// Returns the end of the window: the end of the free space, which counts as none if it is too small to be useful
    /// (RFC 9293 §3.8.6.2.2), but never before the advertised end.
    fn window_end(&self) -> u64 {
        let unread = self.data_end() - self.progress.taken;
        let room = self.buffer.saturating_sub(unread);
        let useful = room >= self.segment || 4 * room >= self.buffer;
        let most = WINDOW_MAX << self.scale;
        let window = if useful { room.min(most) } else { 0 };
        self.progress.announced.max(self.progress.next + window)
    }

    /// Advertises the window: returns its size as it stands in a header. This acknowledges all waiting segments.
    pub(crate) fn announce(&mut self, scaled: bool) -> u16 {
        let scale = if scaled { self.scale } else { 0 };
        let size = self.window_end() - self.progress.next;
        let field = (size >> scale).min(WINDOW_MAX);
        let announced = self.progress.next + (field << scale);
        self.progress.announced = self.progress.announced.max(announced);
        self.due = PendingAck::default();
        field as u16
    }

    /// Fills in the additional information of an acknowledgement without data.
    pub(crate) fn report(&mut self, options: &mut TcpSegmentOptions) {
        let numbers = self.numbers;
        let number = |position| numbers.number(position);
        self.reporter
            .fill(options, self.progress.next, &self.held, number);
    }

    /// Returns the time at which a delayed acknowledgement is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.due.at
    }

    /// Makes the delayed acknowledgement due now.
    pub(crate) fn time_out(&mut self) {
        self.due.at = None;
        self.due.now = true;
    }
}
