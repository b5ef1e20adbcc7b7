//! Two endpoints joined by a wire. Every segment crosses it as bytes.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use machine::{Machine, earlier};
use tcp::{Config, Connection, Endpoint, Input, Output, State};
use units::{BitRate, Bytes, Duration, Instant, SeqNumber};
use wire::TcpSegment;

/// The end that opens, and sends in most tests.
pub(crate) const CLIENT: usize = 0;
/// The end that listens.
pub(crate) const SERVER: usize = 1;

/// What becomes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Late(Duration),
    Twice,
    Lost,
    /// Lost, and the receiver's link knows.
    LostOnAir,
}

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    pub(crate) segment: TcpSegment,
}

/// What decides: the sender, the segment, and how many segments with data that end has sent before.
type Decision = Box<dyn FnMut(usize, &TcpSegment, usize) -> Fate>;

pub(crate) struct Pipe {
    pub(crate) ends: [Endpoint; 2],
    pub(crate) now: Instant,
    pub(crate) delay: Duration,
    pub(crate) rate: BitRate,
    pub(crate) decide: Decision,
    /// Whether each end's application takes data at once.
    pub(crate) reads: [bool; 2],
    pub(crate) log: Vec<Sighting>,
    /// What each end told, segments left out.
    pub(crate) told: [Vec<Output>; 2],
    data_sent: [usize; 2],
    free_at: [Instant; 2],
    on_wire: BTreeMap<(Instant, u64), (usize, Input)>,
    order: u64,
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
            now: Instant::ZERO,
            delay: Duration::from_millis(10),
            rate: BitRate::from_megabits(10),
            decide: Box::new(|_, _, _| Fate::Arrives),
            reads: [true; 2],
            log: Vec::new(),
            told: [Vec::new(), Vec::new()],
            data_sent: [0; 2],
            free_at: [Instant::ZERO; 2],
            on_wire: BTreeMap::new(),
            order: 0,
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
        pipe.log.clear();
        pipe
    }

    /// The segments with data that `end` sends under these numbers, from 0 on, each transmission counted, are lost.
    pub(crate) fn lose(&mut self, end: usize, numbers: &[usize], fate: Fate) {
        let numbers = numbers.to_vec();
        self.decide = Box::new(move |from, segment, number| {
            let meant = from == end && segment.payload > 0 && numbers.contains(&number);
            if meant { fate } else { Fate::Arrives }
        });
    }

    pub(crate) fn input(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(self.now, input);
        self.drain(end);
    }

    pub(crate) fn write(&mut self, end: usize, bytes: u64) {
        self.input(end, Input::Write(bytes));
    }

    fn drain(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll_output() {
            match output {
                Output::Segment(segment) => self.send(end, segment),
                Output::Readable(bytes) => {
                    self.told[end].push(output);
                    if self.reads[end] {
                        self.ends[end].handle_input(self.now, Input::Read(bytes));
                    }
                }
                other => self.told[end].push(other),
            }
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
        let fate = (self.decide)(from, &segment, self.data_sent[from]);
        self.data_sent[from] += usize::from(segment.payload > 0);
        let at = self.now;
        self.log.push(Sighting { at, from, segment });
        let start = self.now.max(self.free_at[from]);
        let sent = start + self.rate.time_for(Bytes::from(bytes.len()));
        self.free_at[from] = sent;
        let arrives = sent + self.delay;
        match fate {
            Fate::Arrives => self.put(arrives, 1 - from, Input::Segment(segment)),
            Fate::Late(more) => self.put(arrives + more, 1 - from, Input::Segment(segment)),
            Fate::Twice => {
                self.put(arrives, 1 - from, Input::Segment(segment));
                self.put(arrives, 1 - from, Input::Segment(segment));
            }
            Fate::Lost => {}
            Fate::LostOnAir => {
                let lost = Input::AirLoss(segment.payload_range());
                self.put(arrives, 1 - from, lost);
            }
        }
    }

    fn put(&mut self, at: Instant, end: usize, input: Input) {
        self.order += 1;
        self.on_wire.insert((at, self.order), (end, input));
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let timers = earlier(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
        let arrival = self.on_wire.keys().next().map(|(at, _)| *at);
        earlier(timers, arrival)
    }

    /// Goes to what happens next; false if nothing does until `end`.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        let Some(next) = self.next().filter(|next| *next <= end) else {
            return false;
        };
        self.now = next.max(self.now);
        for end in [CLIENT, SERVER] {
            if self.ends[end]
                .poll_timeout()
                .is_some_and(|due| due <= self.now)
            {
                self.ends[end].handle_timeout(self.now);
                self.drain(end);
            }
        }
        while let Some(entry) = self
            .on_wire
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let (end, input) = entry.remove();
            self.input(end, input);
        }
        true
    }

    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until the client's data are acknowledged, and says how long that took.
    pub(crate) fn drain_client(&mut self) -> Duration {
        let start = self.now;
        let end = self.now + Duration::from_secs(4_000);
        while !self.ends[CLIENT].is_drained() {
            assert!(self.step(end), "the transfer never ends");
        }
        self.now.since(start)
    }

    /// What `end` received in order, in bytes.
    pub(crate) fn received(&self, end: usize) -> u64 {
        self.ends[end].counters().received.bytes
    }

    /// The segments with data that `end` sent, as offsets in its stream and lengths.
    pub(crate) fn data_of(&self, end: usize) -> Vec<(u32, u16)> {
        let first = connection(end).initial_sequence + 1;
        let sent = self.log.iter().filter(|sighting| sighting.from == end);
        let data = sent.filter(|sighting| sighting.segment.payload > 0);
        let offset = |sighting: &Sighting| sighting.segment.sequence.distance_from(first) as u32;
        data.map(|sighting| (offset(sighting), sighting.segment.payload))
            .collect()
    }

    /// The acknowledgements without data that `end` sent.
    pub(crate) fn acknowledgments_of(&self, end: usize) -> Vec<TcpSegment> {
        let sent = self.log.iter().filter(|sighting| sighting.from == end);
        sent.map(|sighting| sighting.segment)
            .filter(|segment| segment.sequence_length() == 0)
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
