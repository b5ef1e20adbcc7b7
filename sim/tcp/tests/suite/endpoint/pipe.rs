//! Two endpoints joined by a wire. Every segment crosses it as bytes.

use std::net::SocketAddrV4;

use machine::{Machine, earlier};
pub(crate) use simulator::testing::{Clock, Fate, Next, Wire};
use tcp::{Config, Connection, Endpoint, Input, Output, State};
use units::{BitRate, Bytes, Duration, Instant, SeqNumber};
use wire::TcpSegment;

/// The end that opens, and sends in most tests.
pub(crate) const CLIENT: usize = 0;
/// The end that listens.
pub(crate) const SERVER: usize = 1;

pub(crate) struct Pipe {
    pub(crate) ends: [Endpoint; 2],
    pub(crate) clock: Clock<(usize, Input)>,
    pub(crate) wire: Wire<TcpSegment>,
    /// Whether each end's application takes data at once.
    pub(crate) reads: [bool; 2],
    /// What each end told, segments left out.
    pub(crate) told: [Vec<Output>; 2],
}

pub(crate) fn address(end: usize) -> SocketAddrV4 {
    SocketAddrV4::new([10, 0, 0, end as u8 + 1].into(), 4_000)
}

pub(crate) fn connection(end: usize) -> Connection {
    // Both streams wrap within their first segments.
    Connection {
        local: address(end),
        remote: address(1 - end),
        initial_sequence: SeqNumber(u32::MAX - 2_000 - end as u32),
    }
}

impl Pipe {
    pub(crate) fn new(client: &Config, server: &Config) -> Self {
        let opening = Endpoint::new(connection(CLIENT), client.clone());
        let listening = Endpoint::listening(connection(SERVER), server.clone());
        Self {
            ends: [opening.expect("a client"), listening.expect("a server")],
            clock: Clock::new(Instant::ZERO).deadlines_first(),
            wire: Wire::new(
                Duration::from_millis(10),
                BitRate::from_megabits(10),
                |segment: &TcpSegment| segment.payload > 0,
            ),
            reads: [true; 2],
            told: [Vec::new(), Vec::new()],
        }
    }

    /// A connection whose server has room for so many bytes and reads none of them.
    pub(crate) fn to_a_closing_window(policy: tcp::Policy, room: u64) -> Self {
        let mut server = config(policy);
        server.receive_buffer = Bytes::new(room);
        let mut pipe = Self::new(&config(policy), &server);
        pipe.reads[SERVER] = false;
        pipe.input(CLIENT, Input::Connect);
        pipe
    }

    /// Both ends alike, and connected.
    pub(crate) fn connected(config: &Config) -> Self {
        let mut pipe = Self::new(config, config);
        pipe.input(CLIENT, Input::Connect);
        pipe.run(Duration::from_secs(1));
        assert_eq!(pipe.ends[CLIENT].state(), State::Established);
        assert_eq!(pipe.ends[SERVER].state(), State::Established);
        pipe.wire.log.clear();
        pipe
    }

    pub(crate) fn write(&mut self, end: usize, bytes: u64) {
        self.input(end, Input::Write(bytes));
    }

    pub(crate) fn input(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(self.clock.now, input);
        self.drain(end);
    }

    fn drain(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll_output() {
            match output {
                Output::Segment(segment) => {
                    self.send(end, segment);
                    continue;
                }
                Output::Readable(bytes) if self.reads[end] => {
                    self.ends[end].handle_input(self.clock.now, Input::Read(bytes));
                }
                _ => {}
            }
            self.told[end].push(output);
        }
    }

    fn send(&mut self, from: usize, segment: TcpSegment) {
        let mut bytes = vec![0; segment.packet_length()];
        segment.encode(&mut bytes);
        assert_eq!(
            TcpSegment::parse(&bytes),
            Ok((segment, true)),
            "what crosses is what was meant"
        );
        let length = Bytes::from(bytes.len());
        let arrival = |is_damaged: bool| {
            // The receiver's link knows.
            let lost = is_damaged.then(|| Input::AirLoss(segment.payload_range()));
            (1 - from, lost.unwrap_or(Input::Segment(segment)))
        };
        self.wire
            .send(&mut self.clock, from, segment, length, arrival);
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Instant> {
        earlier(self.deadline(), self.clock.first())
    }

    fn deadline(&self) -> Option<Instant> {
        earlier(self.ends[0].poll_timeout(), self.ends[1].poll_timeout())
    }

    /// Goes to what happens next; false if nothing does until `end`.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        match self.clock.advance(end, self.deadline()) {
            Next::Event((end, input)) => self.input(end, input),
            Next::Deadline => {
                for end in [CLIENT, SERVER] {
                    self.ends[end].handle_timeout(self.clock.now);
                    self.drain(end);
                }
            }
            Next::End => return false,
        }
        true
    }

    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.clock.now + span;
        while self.step(end) {}
    }

    /// Runs until the client's data are acknowledged, and says how long that took.
    pub(crate) fn drain_client(&mut self) -> Duration {
        let start = self.clock.now;
        let end = start + Duration::from_secs(4_000);
        while !self.ends[CLIENT].is_drained() {
            assert!(self.step(end), "the transfer never ends");
        }
        self.clock.now.since(start)
    }

    /// What `end` received in order, in bytes.
    pub(crate) fn received(&self, end: usize) -> u64 {
        self.ends[end].counters().received.bytes
    }

    /// The segments with data that `end` sent, as offsets in its stream and lengths.
    pub(crate) fn data_of(&self, end: usize) -> Vec<(u32, u16)> {
        let first = connection(end).initial_sequence + 1;
        let sent = self.wire.sent_by(end).map(|sighting| sighting.packet);
        let data = sent.filter(|segment| segment.payload > 0);
        let offset = |segment: &TcpSegment| segment.sequence.distance_from(first) as u32;
        data.map(|segment| (offset(&segment), segment.payload))
            .collect()
    }

    /// The acknowledgements without data that `end` sent.
    pub(crate) fn acknowledgments_of(&self, end: usize) -> Vec<TcpSegment> {
        let sent = self.wire.sent_by(end).map(|sighting| sighting.packet);
        sent.filter(|segment| segment.sequence_length() == 0)
            .collect()
    }
}

/// 4.4BSD with this policy, exact acknowledgements, and windows that lose nothing to rounding.
pub(crate) fn config(policy: tcp::Policy) -> Config {
    let mut config = Config::bsd().with_policy(policy);
    config.maximum_segment_size = 1_000;
    config.send_low_water = Bytes::ZERO;
    config.acknowledging.delayed = false;
    config.congestion.extra_eighth = false;
    config
}
