//! The endpoint: both halves of a connection, and the machine around them.

use std::net::SocketAddrV4;

use machine::{Machine, earlier};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;
use wire::tcp::{TcpFlags, TcpSegmentOptions, Timestamps};

use crate::clock::Clock;
use crate::receiver::Receiver;
use crate::sender::{Piece, Sender};
use crate::{Config, ConfigError, Connection, Counters, Input, Output, State};

/// Result of the option negotiation in the handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Agreed {
    /// True if this end scales its windows.
    pub(crate) scaling: bool,
    /// Latest valid timestamp of the peer, if segments carry timestamps.
    pub(crate) timestamps: Option<u32>,
}

/// Events to report to the driver.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PendingEvents {
    pub(crate) connected: bool,
    pub(crate) writable: bool,
    pub(crate) finished: bool,
    pub(crate) reset: bool,
    /// A segment outside the stream: a reset.
    pub(crate) reply: Option<TcpSegment>,
}

/// One end of a TCP connection.
///
/// The segments to send are chosen when the outputs are taken: nothing is queued before.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub(crate) connection: Connection,
    pub(crate) config: Config,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) agreed: Agreed,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) news: PendingEvents,
    /// Time at which TIME-WAIT ends.
    pub(crate) time_wait: Option<Instant>,
    /// Tick of the last answer to a segment outside the window. Such segments are answered once a tick, so that two
    /// ends that disagree do not answer each other for ever.
    pub(crate) objected_at: Option<u64>,
}

impl Endpoint {
    /// Returns an end that opens the connection on [`Input::Connect`].
    ///
    /// # Errors
    /// If the configuration makes no sense ([`Config::check`]).
    pub fn new(connection: Connection, config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let clock = Clock::new(&config.timing);
        Ok(Self {
            sender: Sender::new(&config, connection.initial_sequence, &clock),
            receiver: Receiver::new(&config),
            connection,
            config,
            state: State::Closed,
            clock,
            agreed: Agreed::default(),
            news: PendingEvents::default(),
            time_wait: None,
            objected_at: None,
        })
    }

    /// Returns an end that listens for a connection.
    ///
    /// # Errors
    /// If the configuration makes no sense ([`Config::check`]).
    pub fn listening(connection: Connection, config: Config) -> Result<Self, ConfigError> {
        let mut endpoint = Self::new(connection, config)?;
        endpoint.state = State::Listen;
        Ok(endpoint)
    }

    /// Returns the state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the two ends; the peer is known once its SYN has arrived.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the counters so far.
    pub fn counters(&self) -> Counters {
        Counters {
            sent: self.sender.sent,
            received: self.receiver.received,
            recovered: self.sender.recovered,
        }
    }

    /// Returns the congestion window, in bytes.
    pub fn congestion_window(&self) -> u64 {
        self.sender.congestion_window()
    }

    /// Returns the slow start threshold, in bytes; `None` before the first loss.
    pub fn slow_start_threshold(&self) -> Option<u64> {
        Some(self.sender.slow_start_threshold()).filter(|threshold| *threshold < u64::MAX)
    }

    /// Returns the number of bytes sent and not acknowledged.
    pub fn flight(&self) -> u64 {
        self.sender.flight_size()
    }

    /// Returns the smoothed round trip from exact times, which only observers and SMART use; `None` before there is a
    /// sample.
    pub fn smoothed_round_trip(&self) -> Option<Duration> {
        self.sender.timers.round_trip().smoothed()
    }

    /// Returns the retransmission timeout, in whole ticks, back-off included.
    pub fn retransmission_timeout(&self) -> Duration {
        self.sender.timers.timeout(&self.clock)
    }

    /// Returns the number of bytes of data that the peer has acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.acknowledged_bytes()
    }

    /// Returns true if all written data are acknowledged, with the FIN if this end has closed.
    pub fn is_drained(&self) -> bool {
        self.sender.is_drained()
    }

    /// Ends the connection at once; with `tell` it reports a reset to the driver.
    pub(crate) fn end(&mut self, tell: bool) {
        self.state = State::Closed;
        self.time_wait = None;
        self.news.reset |= tell;
    }

    /// Returns a reset with sequence number `sequence`, which acknowledges `acknowledgment` if there is one.
    pub(crate) fn reset(
        &self,
        sequence: SeqNumber,
        acknowledgment: Option<SeqNumber>,
    ) -> TcpSegment {
        let flags = match acknowledgment {
            Some(_) => TcpFlags::RST | TcpFlags::ACK,
            None => TcpFlags::RST,
        };
        TcpSegment {
            source: self.connection.local,
            destination: self.connection.remote,
            sequence,
            acknowledgment: acknowledgment.unwrap_or_default(),
            flags,
            window: 0,
            payload: 0,
            options: TcpSegmentOptions::default(),
        }
    }

    /// Moves to `state`.
    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
        if state == State::TimeWait {
            self.time_wait = Some(self.clock.now() + self.config.timing.time_wait);
        }
    }

    fn close(&mut self) {
        self.state = self.state.closed_here();
        if self.state == State::Closed {
            self.end(false);
        } else {
            self.sender.close();
        }
    }

    fn abort(&mut self) {
        if self.state.is_synchronized() || self.state == State::SynReceived {
            let number = self.sender.numbers.number(self.sender.flight.end);
            let acknowledgment = Some(self.receiver.acknowledgment());
            self.news.reply = Some(self.reset(number, acknowledgment));
        }
        self.end(false);
    }

    /// Returns the next event for the driver.
    fn next_news(&mut self) -> Option<Output> {
        if let Some(reply) = self.news.reply.take() {
            self.sender.sent.segments += 1;
            return Some(Output::Segment(reply));
        }
        if std::mem::take(&mut self.news.connected) {
            return Some(Output::Connected);
        }
        if let Some(bytes) = self.receiver.tell() {
            return Some(Output::Readable(bytes));
        }
        if std::mem::take(&mut self.news.writable) && self.sender.room() > 0 {
            return Some(Output::Writable(self.sender.room()));
        }
        if std::mem::take(&mut self.news.finished) {
            return Some(Output::Finished);
        }
        std::mem::take(&mut self.news.reset).then_some(Output::Reset)
    }

    /// Returns the next segment that is due.
    fn next_segment(&mut self) -> Option<TcpSegment> {
        if matches!(self.state, State::Closed | State::Listen) {
            return None;
        }
        let synchronized = self.state.is_synchronized() || self.state == State::SynReceived;
        if synchronized && self.receiver.shows_gap() {
            return Some(self.acknowledgment());
        }
        if let Some(piece) = self.sender.choose(&self.clock) {
            return Some(self.segment_of(&piece));
        }
        if synchronized && self.receiver.acknowledges_now() {
            return Some(self.acknowledgment());
        }
        self.sender.settle(&self.clock);
        None
    }

    /// Returns an acknowledgement without data.
    fn acknowledgment(&mut self) -> TcpSegment {
        self.sender.sent.acknowledgments += 1;
        let mut segment = self.segment(self.sender.idle_position(), TcpFlags::ACK);
        self.receiver.report(&mut segment.options);
        segment
    }

    /// Returns the segment for a piece that is sent now.
    fn segment_of(&mut self, piece: &Piece) -> TcpSegment {
        let mut flags = match self.state {
            State::SynSent => TcpFlags::NONE,
            _ => TcpFlags::ACK,
        };
        for (flag, set) in [
            (TcpFlags::SYN, piece.syn),
            (TcpFlags::FIN, piece.fin),
            (TcpFlags::PSH, piece.last && piece.length > 0),
        ] {
            flags = if set { flags | flag } else { flags };
        }
        let mut segment = self.segment(piece.start, flags);
        segment.payload = piece.length as u16;
        self.sender.note_sent(piece, &self.clock);
        segment
    }

    /// Returns a segment without data at a position, with the fields that every segment has.
    fn segment(&mut self, position: u64, flags: TcpFlags) -> TcpSegment {
        self.sender.sent.segments += 1;
        let syn = flags.contains(TcpFlags::SYN);
        let timestamps = self.agreed.timestamps.map(|echo| Timestamps {
            value: self.clock.count() as u32,
            echo,
        });
        let mut options = TcpSegmentOptions {
            timestamps,
            ..TcpSegmentOptions::default()
        };
        if syn {
            self.offer(&mut options);
        }
        let acknowledges = flags.contains(TcpFlags::ACK);
        TcpSegment {
            source: self.connection.local,
            destination: self.connection.remote,
            sequence: self.sender.numbers.number(position),
            acknowledgment: if acknowledges {
                self.receiver.acknowledgment()
            } else {
                SeqNumber(0)
            },
            flags,
            window: self.receiver.announce(!syn),
            payload: 0,
            options,
        }
    }

    /// Returns true if the addresses are those of this connection, or if this end listens for any peer.
    pub(crate) fn is_for_us(&self, source: SocketAddrV4, destination: SocketAddrV4) -> bool {
        let open = self.state == State::Listen && self.connection.remote.port() == 0;
        destination == self.connection.local && (open || source == self.connection.remote)
    }
}

impl Machine for Endpoint {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        self.clock.advance(now);
        match input {
            Input::Segment(segment) => self.arrive(&segment),
            Input::Connect if self.state == State::Closed && self.sender.flight.end == 0 => {
                self.state = State::SynSent;
            }
            Input::Connect => {}
            Input::Write(bytes) => self.sender.write(bytes),
            Input::Read(bytes) => self.receiver.read(bytes),
            Input::Close => self.close(),
            Input::Abort => self.abort(),
            Input::AirLoss(range) => self.receiver.lost_on_air(range),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.clock.advance(now);
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if self.state == State::Closed {
            return;
        }
        if due(self.sender.timers.deadline()) && !self.sender.time_out(&self.clock) {
            self.end(true);
        }
        if due(self.sender.timers.persist_deadline()) {
            self.sender.persist_out();
        }
        if due(self.sender.present_deadline()) {
            self.sender.handle_present(&self.clock);
        }
        if due(self.receiver.deadline()) {
            self.receiver.time_out();
        }
        if due(self.time_wait) {
            self.end(false);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        if let Some(news) = self.next_news() {
            return Some(news);
        }
        self.next_segment().map(Output::Segment)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.state == State::Closed {
            return None;
        }
        let timers = &self.sender.timers;
        let sender = earlier(timers.deadline(), timers.persist_deadline());
        let sender = earlier(sender, self.sender.present_deadline());
        earlier(earlier(sender, self.receiver.deadline()), self.time_wait)
    }
}
