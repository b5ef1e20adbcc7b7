//! One connection across the channel, and its applications.

use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;

use channel::Direction;
use machine::{Machine, earlier};
use tcp::{Config, Connection, Control, Counters, Endpoint, Input, Output};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;

/// More bytes than any connection sends.
const ENDLESS: u64 = 1 << 50;
/// Size of a small request, and of its reply, in bytes.
const SMALL: u64 = 200;
/// Interval at which delivered bytes are recorded.
pub(crate) const NOTE: Duration = Duration::from_millis(100);

/// Congestion control of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// CUBIC, which reacts to losses.
    Cubic,
    /// BBR version 1, which uses a model of the path.
    Bbr,
}

impl Kind {
    /// Returns the configuration of both ends.
    pub fn config(self) -> Config {
        Config::kernel(match self {
            Self::Cubic => Control::Cubic,
            Self::Bbr => Control::Bbr,
        })
    }

    /// Returns the name for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }
}

/// Task of the applications.
#[derive(Debug, Clone)]
enum Task {
    /// Data in this direction, as much as possible.
    Bulk(Direction),
    /// Requests of the mobile end, and replies of the other.
    Requests(Requests),
}

#[derive(Debug, Clone)]
struct Requests {
    every: Duration,
    next: Instant,
    waiting: VecDeque<Instant>,
    /// Bytes read of an incomplete request, and of an incomplete reply.
    read: [u64; 2],
    replies: Vec<(Instant, Duration)>,
}

/// Returns the direction of an end's segments.
pub(crate) fn direction_of(end: usize) -> Direction {
    Direction::BOTH[end]
}

/// Returns the end whose segments go in this direction: 0 for the fixed host, 1 for the mobile.
fn end_of(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// A connection.
#[derive(Debug, Clone)]
pub(crate) struct Rival {
    ends: [Endpoint; 2],
    span: Range<Instant>,
    started: bool,
    stopped: bool,
    task: Task,
    delivered: u64,
    /// Bytes delivered until the end of each [`NOTE`].
    notes: Vec<u64>,
}

impl Rival {
    fn new(number: usize, config: &Config, span: Range<Instant>, task: Task) -> Self {
        let port = 10_000 + (number % 50_000) as u16;
        let connection = |end: u8| Connection {
            local: SocketAddrV4::new([198, 51, 100, end + 1].into(), port),
            remote: SocketAddrV4::new([198, 51, 100, 2 - end].into(), port),
            initial_sequence: SeqNumber(0x1000_0000 * u32::from(end) + number as u32),
        };
        let opens = match &task {
            Task::Bulk(direction) => end_of(*direction),
            Task::Requests(_) => end_of(Direction::Up),
        };
        let end = |end: u8| {
            let (connection, config) = (connection(end), config.clone());
            let made = if usize::from(end) == opens {
                Endpoint::new(connection, config)
            } else {
                Endpoint::listening(connection, config)
            };
            made.expect("the configuration of a kernel is right")
        };
        Self {
            ends: [end(0), end(1)],
            span,
            started: false,
            stopped: false,
            task,
            delivered: 0,
            notes: Vec::new(),
        }
    }

    pub(crate) fn bulk(
        number: usize,
        kind: Kind,
        direction: Direction,
        span: Range<Instant>,
    ) -> Self {
        Self::new(number, &kind.config(), span, Task::Bulk(direction))
    }

    pub(crate) fn requests(number: usize, every: Duration, span: Range<Instant>) -> Self {
        let mut config = Kind::Cubic.config();
        config.no_delay = true;
        let task = Task::Requests(Requests {
            every,
            next: span.start,
            waiting: VecDeque::new(),
            read: [0; 2],
            replies: Vec::new(),
        });
        Self::new(number, &config, span, task)
    }

    /// Returns the number of bytes that arrived at the far end, in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the number of bytes delivered until an earlier time, to a tenth of a second.
    pub(crate) fn delivered_until(&self, at: Instant) -> u64 {
        let place = at.as_nanos() / NOTE.as_nanos();
        let noted = self.notes.get((place as usize).saturating_sub(1)).copied();
        if place == 0 {
            0
        } else {
            noted.unwrap_or(self.delivered)
        }
    }

    /// Returns the time of each request, and the delay of its reply.
    pub(crate) fn replies(&self) -> &[(Instant, Duration)] {
        match &self.task {
            Task::Requests(requests) => &requests.replies,
            Task::Bulk(_) => &[],
        }
    }

    /// Returns the counters of the sending end; for requests, of the mobile one.
    pub(crate) fn counters(&self) -> Counters {
        self.ends[self.opener()].counters()
    }

    pub(crate) fn sender(&self) -> &Endpoint {
        &self.ends[self.opener()]
    }

    fn opener(&self) -> usize {
        match &self.task {
            Task::Bulk(direction) => end_of(*direction),
            Task::Requests(_) => end_of(Direction::Up),
        }
    }

    pub(crate) fn take(&mut self, now: Instant, end: usize, segment: TcpSegment) {
        self.ends[end].handle_input(now, Input::Segment(segment));
    }

    /// Handles deadlines that have come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let opener = self.opener();
        if !self.started && self.span.start <= now {
            self.started = true;
            self.ends[opener].handle_input(now, Input::Connect);
        }
        if !self.stopped && self.span.end <= now {
            self.stopped = true;
            self.ends[opener].handle_input(now, Input::Abort);
        }
        if let Task::Requests(requests) = &mut self.task
            && self.started
            && !self.stopped
            && requests.next <= now
        {
            requests.waiting.push_back(now);
            requests.next += requests.every;
            self.ends[opener].handle_input(now, Input::Write(SMALL));
        }
        for end in &mut self.ends {
            if end.poll_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if !self.started {
            return Some(self.span.start);
        }
        let request = match &self.task {
            Task::Requests(requests) if !self.stopped => Some(requests.next),
            Task::Requests(_) | Task::Bulk(_) => None,
        };
        let stop = (!self.stopped).then_some(self.span.end);
        let [one, other] = &self.ends;
        let ends = earlier(one.poll_timeout(), other.poll_timeout());
        earlier(earlier(request, stop), ends)
    }

    /// Returns the next segment that an end sends.
    pub(crate) fn poll_segment(&mut self, now: Instant) -> Option<(usize, TcpSegment)> {
        for end in 0..2 {
            while let Some(output) = self.ends[end].poll_output() {
                match output {
                    Output::Segment(segment) => return Some((end, segment)),
                    Output::Readable(bytes) => self.read(now, end, bytes),
                    Output::Connected => self.connected(now, end),
                    Output::Writable(_) | Output::Finished | Output::Reset => {}
                }
            }
        }
        None
    }

    fn connected(&mut self, now: Instant, end: usize) {
        if matches!(self.task, Task::Bulk(_)) && end == self.opener() {
            self.ends[end].handle_input(now, Input::Write(ENDLESS));
        }
    }

    fn read(&mut self, now: Instant, end: usize, bytes: u64) {
        self.ends[end].handle_input(now, Input::Read(bytes));
        match &mut self.task {
            Task::Bulk(_) => self.note(now, bytes),
            Task::Requests(requests) => {
                requests.read[end] += bytes;
                while requests.read[end] >= SMALL {
                    requests.read[end] -= SMALL;
                    if end == end_of(Direction::Down) {
                        self.ends[end].handle_input(now, Input::Write(SMALL));
                    } else if let Some(sent) = requests.waiting.pop_front() {
                        requests.replies.push((sent, now.since(sent)));
                    }
                }
            }
        }
    }

    fn note(&mut self, now: Instant, bytes: u64) {
        let past = now.as_nanos() / NOTE.as_nanos();
        while (self.notes.len() as u64) < past {
            self.notes.push(self.delivered);
        }
        self.delivered += bytes;
    }
}
