//! Two endpoints joined by a hop. Every packet crosses it as bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use machine::{Machine, RandomStream, earlier};
use mtcp::packet::{Addresses, Data, Packet};
use mtcp::{Config, ConnectionId, Endpoint, Input, Output, Phase, Profile, Reason, Status};
use redirector::{Chunks, Content};
pub(crate) use simulator::testing::{Clock, Fate, Next, Wire};
use units::{BitRate, Duration, Instant};

/// Index of the end that opens, and sends in most tests.
pub(crate) const GATEWAY: usize = 0;
/// Index of the other end.
pub(crate) const MOBILE: usize = 1;

pub(crate) type Decision = simulator::testing::Decision<Packet<Chunks>>;

/// What arrives at an end.
#[derive(Debug)]
pub(crate) enum Arrival {
    Packet(Vec<u8>),
    /// The hop takes the next packet, if it is still free.
    Room,
}

/// What an end has told of a connection.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) arrived: Option<Addresses>,
    pub(crate) connected: bool,
    pub(crate) received: Vec<u8>,
    pub(crate) readable: u64,
    pub(crate) writable: u64,
    pub(crate) finished: bool,
    pub(crate) reset: Option<Reason>,
    pub(crate) closed: bool,
}

pub(crate) struct Pipe {
    pub(crate) ends: [Endpoint<Chunks>; 2],
    pub(crate) clock: Clock<(usize, Arrival)>,
    pub(crate) wire: Wire<Packet<Chunks>>,
    /// Whether each end's application takes data at once.
    pub(crate) reads: [bool; 2],
    /// True if the hop takes packets only when it is free.
    pub(crate) grants: bool,
    /// True for an end that accepts at once.
    pub(crate) accepts: [bool; 2],
    pub(crate) told: [BTreeMap<ConnectionId, Told>; 2],
}

/// More outputs than one input may cause.
const OUTPUTS_MOST: usize = 1_000_000;

pub(crate) fn address(last: u8, port: u16) -> SocketAddr {
    ([10, 0, 0, last], port).into()
}

pub(crate) fn addresses() -> Addresses {
    Addresses::new(address(1, 80), address(2, 4_000)).expect("one family")
}

/// Returns the content of streams: any byte shows its place.
pub(crate) fn content(start: usize, length: usize) -> Vec<u8> {
    let byte = |place: usize| (place ^ (place >> 7) ^ (place >> 13)) as u8;
    (start..start + length).map(byte).collect()
}

pub(crate) fn chunk(bytes: Vec<u8>) -> Chunks {
    Chunks::from(Bytes::from(bytes))
}

fn bytes_of(content: &Chunks) -> Vec<u8> {
    content.iter().flat_map(|bytes| bytes.to_vec()).collect()
}

/// Encodes a packet as it crosses the hop.
fn encode(packet: &Packet<Chunks>) -> Vec<u8> {
    let mut bytes = vec![0; packet.length()];
    packet.write(&mut bytes, |content, mut out| {
        for chunk in content.iter() {
            let (now, rest) = out.split_at_mut(chunk.len());
            now.copy_from_slice(chunk);
            out = rest;
        }
    });
    let owned = |bytes: &[u8]| chunk(bytes.to_vec());
    let parsed = Packet::parse(&bytes).expect("a packet").map(owned);
    assert!(same(&parsed, packet), "what crosses is what was meant");
    bytes
}

fn same(one: &Packet<Chunks>, other: &Packet<Chunks>) -> bool {
    let plain = |packet: &Packet<Chunks>| packet.clone().map(|content| bytes_of(&content));
    plain(one) == plain(other)
}

impl Pipe {
    pub(crate) fn new(gateway: &Config, mobile: &Config) -> Self {
        let build = |config: &Config, name| {
            let random = RandomStream::named(1, name);
            Endpoint::new(config.clone(), random).expect("a configuration")
        };
        Self {
            ends: [build(gateway, "gateway"), build(mobile, "mobile")],
            clock: Clock::new(Instant::from_millis(7)).deadlines_first(),
            wire: Wire::new(
                Duration::from_millis(10),
                BitRate::from_megabits(10),
                carries_data,
            ),
            reads: [true; 2],
            grants: false,
            accepts: [true; 2],
            told: [BTreeMap::new(), BTreeMap::new()],
        }
    }

    /// Returns two ends with the same configuration, and one connection between them.
    pub(crate) fn connected(config: &Config) -> (Self, [ConnectionId; 2]) {
        Self::connected_between(config, config)
    }

    pub(crate) fn connected_between(
        gateway: &Config,
        mobile: &Config,
    ) -> (Self, [ConnectionId; 2]) {
        let mut pipe = Self::new(gateway, mobile);
        pipe.open(GATEWAY, 1);
        pipe.run(Duration::from_millis(100));
        let ids = [ConnectionId::Opened(1), ConnectionId::Arrived(0)];
        for end in [GATEWAY, MOBILE] {
            assert_eq!(pipe.phase(end, ids[end]), Some(Phase::Open));
            assert!(pipe.told[end][&ids[end]].connected);
        }
        pipe.wire.log.clear();
        pipe.wire.data_sent = [0; 2];
        (pipe, ids)
    }

    pub(crate) fn open(&mut self, end: usize, number: u64) {
        let addresses = addresses();
        self.input(end, Input::Open { number, addresses });
    }

    pub(crate) fn status(&self, end: usize, id: ConnectionId) -> Status {
        self.ends[end].status(id).expect("the connection exists")
    }

    pub(crate) fn phase(&self, end: usize, id: ConnectionId) -> Option<Phase> {
        self.ends[end].status(id).map(|status| status.phase)
    }

    pub(crate) fn told(&mut self, end: usize, id: ConnectionId) -> &mut Told {
        self.told[end].entry(id).or_default()
    }

    /// Loses the packets with data that `end` sends under these numbers, from 0 on, each transmission counted.
    pub(crate) fn lose(&mut self, end: usize, numbers: &[usize]) {
        self.wire.decide_on(Fate::Lost, end, numbers);
    }

    /// The packets are lost for which `is_lost` says so; it is asked as a decision is.
    pub(crate) fn lose_where(
        &mut self,
        is_lost: impl FnMut(usize, &Packet<Chunks>, usize) -> bool + 'static,
    ) {
        self.wire.decide_where(Fate::Lost, is_lost);
    }

    /// Loses all packets from now on.
    pub(crate) fn lose_all(&mut self) {
        self.lose_where(|_, _, _| true);
    }

    /// Delivers all packets from now on.
    pub(crate) fn lose_none(&mut self) {
        self.lose_where(|_, _, _| false);
    }

    /// Writes this range of the stream's content.
    pub(crate) fn write(&mut self, end: usize, id: ConnectionId, range: std::ops::Range<usize>) {
        let content = chunk(content(range.start, range.end - range.start));
        self.input(end, Input::Write(id, content));
    }

    /// Takes a connection out of an end, as text.
    pub(crate) fn suspend(&mut self, end: usize, id: ConnectionId) -> Option<String> {
        let state = self.ends[end].suspend(self.clock.now, id)?;
        Some(serde_json::to_string(&state).expect("text"))
    }

    /// Resumes a connection that was `id` before. Returns its new identifier.
    pub(crate) fn resume(&mut self, end: usize, id: ConnectionId, state: &str) -> ConnectionId {
        let (ConnectionId::Opened(number) | ConnectionId::Arrived(number)) = id;
        let state = serde_json::from_str(state).expect("a state");
        let resumed = ConnectionId::Opened(number + 1_000);
        let result = self.ends[end].resume(self.clock.now, resumed, state);
        result.expect("the state is whole");
        let told = self.told[end].remove(&id).unwrap_or_default();
        self.told[end].insert(resumed, told);
        self.drain(end);
        resumed
    }

    pub(crate) fn input(&mut self, end: usize, input: Input<Chunks>) {
        self.answer(end, input);
        self.drain(end);
    }

    /// Hands an end an input while its outputs are carried out, as live drivers do.
    fn answer(&mut self, end: usize, input: Input<Chunks>) {
        self.ends[end].handle_input(self.clock.now, input);
    }

    fn drain(&mut self, end: usize) {
        for _ in 0..OUTPUTS_MOST {
            let Some(output) = self.ends[end].poll_output() else {
                return;
            };
            self.carry_out(end, output);
        }
        panic!("the outputs after one input do not end");
    }

    fn carry_out(&mut self, end: usize, output: Output<Chunks>) {
        match output {
            Output::Packet(packet) => self.send(end, packet),
            Output::Arrived(id, addresses) => {
                self.told(end, id).arrived = Some(addresses);
                if self.accepts[end] {
                    self.answer(end, Input::Accept(id));
                }
            }
            Output::Connected(id) => self.told(end, id).connected = true,
            Output::Readable(id, bytes) => {
                self.told(end, id).readable = bytes;
                if self.reads[end] {
                    self.answer(end, Input::Read(id, bytes));
                }
            }
            Output::Data(id, content) => {
                let told = self.told(end, id);
                told.readable -= content.length();
                told.received.extend(bytes_of(&content));
            }
            Output::Writable(id, room) => self.told(end, id).writable = room,
            Output::Finished(id) => self.told(end, id).finished = true,
            Output::Reset(id, reason) => self.told(end, id).reset = Some(reason),
            Output::Closed(id) => self.told(end, id).closed = true,
        }
    }

    fn send(&mut self, from: usize, packet: Packet<Chunks>) {
        let bytes = encode(&packet);
        let length = bytes.len().into();
        let arrival = |is_damaged| {
            let mut bytes = bytes.clone();
            let place = bytes.len() / 2;
            bytes[place] ^= if is_damaged { 0x10 } else { 0 };
            (1 - from, Arrival::Packet(bytes))
        };
        let sent = self
            .wire
            .send(&mut self.clock, from, packet, length, arrival);
        if self.grants {
            self.answer(from, Input::Room(0));
            self.clock.add(sent, (from, Arrival::Room));
        }
    }

    /// Delivers a packet from an unknown sender.
    pub(crate) fn inject(&mut self, end: usize, packet: &Packet<Chunks>) {
        let bytes = encode(packet);
        self.deliver(end, &bytes);
    }

    pub(crate) fn deliver(&mut self, end: usize, bytes: &[u8]) {
        let input = match Packet::parse(bytes) {
            Ok(packet) => Input::Packet(packet.map(|bytes| chunk(bytes.to_vec()))),
            Err(_) => Input::Damaged,
        };
        self.input(end, input);
    }

    /// Goes to what happens next; false if nothing does until `end`.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        let timers = earlier(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
        match self.clock.advance(end, timers) {
            Next::Event((end, Arrival::Packet(bytes))) => self.deliver(end, &bytes),
            Next::Event((end, Arrival::Room)) => {
                if self.wire.is_free(end, self.clock.now) {
                    self.input(end, Input::Room(1));
                }
            }
            Next::Deadline => {
                for end in [GATEWAY, MOBILE] {
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

    /// Returns the packets with data, or with the end of a stream, that `end` sent, with their times.
    pub(crate) fn data_of(&self, end: usize) -> Vec<(Instant, Data<Chunks>)> {
        self.sent_by(end, true)
    }

    /// Returns the packets without data that `end` sent.
    pub(crate) fn acknowledgments_of(&self, end: usize) -> Vec<(Instant, Data<Chunks>)> {
        self.sent_by(end, false)
    }

    fn sent_by(&self, end: usize, with_data: bool) -> Vec<(Instant, Data<Chunks>)> {
        let sent = self.wire.sent_by(end);
        sent.filter_map(|sighting| match &sighting.packet {
            Packet::Data(data) if carries_data(&sighting.packet) == with_data => {
                Some((sighting.at, data.clone()))
            }
            _ => None,
        })
        .collect()
    }
}

pub(crate) fn carries_data(packet: &Packet<Chunks>) -> bool {
    match packet {
        Packet::Control(_) => false,
        Packet::Data(data) => data.content.length() > 0 || data.flags.fin,
    }
}

pub(crate) fn is_wide(packet: &Packet<Chunks>) -> bool {
    let profile = match packet {
        Packet::Control(control) => control.profile,
        Packet::Data(data) => data.profile,
    };
    profile == Profile::Wide
}

/// Returns the paper's values, with packets of 1,000 bytes of data.
pub(crate) fn paper() -> Config {
    Config {
        packet: 1_016,
        ..Config::paper()
    }
}

/// Returns the wide profile, with packets of 1,000 bytes of data.
pub(crate) fn wide() -> Config {
    Config {
        packet: 1_028,
        ..Config::wide()
    }
}
