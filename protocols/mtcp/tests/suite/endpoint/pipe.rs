//! Two endpoints joined by a hop. Every packet crosses it as bytes.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use bytes::Bytes;
use machine::{Machine, RandomStream, earlier};
use mtcp::packet::{Addresses, Data, Packet};
use mtcp::{Config, ConnectionId, Endpoint, Input, Output, Phase, Profile, Reason, Status};
use redirector::{Chunks, Content};
use units::{BitRate, Duration, Instant};

/// Index of the end that opens, and sends in most tests.
pub(crate) const GATEWAY: usize = 0;
/// Index of the other end.
pub(crate) const MOBILE: usize = 1;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Late(Duration),
    Twice,
    Lost,
    Damaged,
}

/// A packet that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    pub(crate) packet: Packet<Chunks>,
}

/// Function that decides on a packet: by the sender, the packet, and the number of packets with data that end has
/// sent before.
pub(crate) type Decision = Box<dyn FnMut(usize, &Packet<Chunks>, usize) -> Fate>;

/// Outputs of an end about a connection.
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
    pub(crate) now: Instant,
    pub(crate) delay: Duration,
    pub(crate) rate: BitRate,
    pub(crate) decide: Decision,
    /// True for an end whose application takes data at once.
    pub(crate) reads: [bool; 2],
    /// True if the hop takes packets only when it is free.
    pub(crate) grants: bool,
    /// True for an end that accepts at once.
    pub(crate) accepts: [bool; 2],
    pub(crate) log: Vec<Sighting>,
    pub(crate) told: [BTreeMap<ConnectionId, Told>; 2],
    data_sent: [usize; 2],
    free_at: [Instant; 2],
    on_air: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    order: u64,
    questions: [VecDeque<Input<Chunks>>; 2],
}

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
            now: Instant::from_millis(7),
            delay: Duration::from_millis(10),
            rate: BitRate::from_megabits(10),
            decide: Box::new(|_, _, _| Fate::Arrives),
            reads: [true; 2],
            grants: false,
            accepts: [true; 2],
            log: Vec::new(),
            told: [BTreeMap::new(), BTreeMap::new()],
            data_sent: [0; 2],
            free_at: [Instant::ZERO; 2],
            on_air: BTreeMap::new(),
            order: 0,
            questions: [VecDeque::new(), VecDeque::new()],
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
        pipe.log.clear();
        pipe.data_sent = [0; 2];
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
        let numbers = numbers.to_vec();
        self.lose_where(move |from, packet, number| {
            from == end && carries_data(packet) && numbers.contains(&number)
        });
    }

    /// Loses the packets for which `is_lost` returns true; its arguments are those of a [`Decision`].
    pub(crate) fn lose_where(
        &mut self,
        mut is_lost: impl FnMut(usize, &Packet<Chunks>, usize) -> bool + 'static,
    ) {
        self.decide = Box::new(move |from, packet, number| {
            if is_lost(from, packet, number) {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        });
    }

    /// Loses all packets from now on.
    pub(crate) fn lose_all(&mut self) {
        self.decide = Box::new(|_, _, _| Fate::Lost);
    }

    /// Delivers all packets from now on.
    pub(crate) fn lose_none(&mut self) {
        self.decide = Box::new(|_, _, _| Fate::Arrives);
    }

    pub(crate) fn input(&mut self, end: usize, input: Input<Chunks>) {
        self.ends[end].handle_input(self.now, input);
        self.drain(end);
    }

    /// Writes this range of the stream's content.
    pub(crate) fn write(&mut self, end: usize, id: ConnectionId, range: std::ops::Range<usize>) {
        let content = chunk(content(range.start, range.end - range.start));
        self.input(end, Input::Write(id, content));
    }

    /// Takes a connection out of an end, as text.
    pub(crate) fn suspend(&mut self, end: usize, id: ConnectionId) -> Option<String> {
        let state = self.ends[end].suspend(self.now, id)?;
        Some(serde_json::to_string(&state).expect("text"))
    }

    /// Resumes a connection that was `id` before. Returns its new identifier.
    pub(crate) fn resume(&mut self, end: usize, id: ConnectionId, state: &str) -> ConnectionId {
        let (ConnectionId::Opened(number) | ConnectionId::Arrived(number)) = id;
        let state = serde_json::from_str(state).expect("a state");
        let resumed = self.ends[end].resume(self.now, number + 1_000, state);
        let resumed = resumed.expect("the state is whole");
        let told = self.told[end].remove(&id).unwrap_or_default();
        self.told[end].insert(resumed, told);
        self.drain(end);
        resumed
    }

    fn drain(&mut self, end: usize) {
        loop {
            while let Some(output) = self.ends[end].poll_output() {
                self.take(end, output);
                // Answers are given at once, as live drivers do.
                while let Some(answer) = self.questions[end].pop_front() {
                    self.ends[end].handle_input(self.now, answer);
                }
            }
            if self.questions[end].is_empty() {
                return;
            }
        }
    }

    fn take(&mut self, end: usize, output: Output<Chunks>) {
        match output {
            Output::Packet(packet) => self.send(end, packet),
            Output::Arrived(id, addresses) => {
                self.told(end, id).arrived = Some(addresses);
                if self.accepts[end] {
                    self.questions[end].push_back(Input::Accept(id));
                }
            }
            Output::Connected(id) => self.told(end, id).connected = true,
            Output::Readable(id, bytes) => {
                self.told(end, id).readable = bytes;
                if self.reads[end] {
                    self.questions[end].push_back(Input::Read(id, bytes));
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
        let mut bytes = encode(&packet);
        let fate = (self.decide)(from, &packet, self.data_sent[from]);
        self.data_sent[from] += usize::from(carries_data(&packet));
        let at = self.now;
        self.log.push(Sighting { at, from, packet });
        let start = self.now.max(self.free_at[from]);
        let sent = start + self.rate.time_for(units::Bytes::from(bytes.len()));
        self.free_at[from] = sent;
        let arrives = sent + self.delay;
        if self.grants {
            self.questions[from].push_back(Input::Room(0));
            self.put(sent, from, Vec::new());
        }
        match fate {
            Fate::Arrives => self.put(arrives, 1 - from, bytes),
            Fate::Late(more) => self.put(arrives + more, 1 - from, bytes),
            Fate::Twice => {
                self.put(arrives, 1 - from, bytes.clone());
                self.put(arrives, 1 - from, bytes);
            }
            Fate::Lost => {}
            Fate::Damaged => {
                let place = bytes.len() / 2;
                bytes[place] ^= 0x10;
                self.put(arrives, 1 - from, bytes);
            }
        }
    }

    fn put(&mut self, at: Instant, end: usize, bytes: Vec<u8>) {
        self.order += 1;
        self.on_air.insert((at, self.order), (end, bytes));
    }

    /// Delivers a packet from an unknown sender.
    pub(crate) fn inject(&mut self, end: usize, packet: &Packet<Chunks>) {
        let bytes = encode(packet);
        self.deliver(end, &bytes);
    }

    pub(crate) fn deliver(&mut self, end: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            if self.free_at[end] <= self.now {
                self.input(end, Input::Room(1));
            }
            return;
        }
        let input = match Packet::parse(bytes) {
            Ok(packet) => Input::Packet(packet.map(|bytes| chunk(bytes.to_vec()))),
            Err(_) => Input::Damaged,
        };
        self.input(end, input);
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Option<Instant> {
        let timers = earlier(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
        earlier(timers, self.on_air.keys().next().map(|(at, _)| *at))
    }

    /// Runs the next event. Returns false if there is none until `end`.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        let Some(next) = self.next().filter(|next| *next <= end) else {
            return false;
        };
        self.now = next.max(self.now);
        for end in [GATEWAY, MOBILE] {
            let due = self.ends[end].poll_timeout();
            if due.is_some_and(|due| due <= self.now) {
                self.ends[end].handle_timeout(self.now);
                self.drain(end);
            }
        }
        while let Some(entry) = self
            .on_air
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let (end, bytes) = entry.remove();
            self.deliver(end, &bytes);
        }
        true
    }

    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step(end) {}
        self.now = end;
    }

    /// Returns the packets with data, or with the end of a stream, that `end` sent, with their times.
    pub(crate) fn data_of(&self, end: usize) -> Vec<(Instant, Data<Chunks>)> {
        let sent = self.log.iter().filter(|sighting| sighting.from == end);
        sent.filter_map(|sighting| match &sighting.packet {
            Packet::Data(data) if carries_data(&sighting.packet) => {
                Some((sighting.at, data.clone()))
            }
            _ => None,
        })
        .collect()
    }

    /// Returns the packets without data that `end` sent.
    pub(crate) fn acknowledgments_of(&self, end: usize) -> Vec<(Instant, Data<Chunks>)> {
        let sent = self.log.iter().filter(|sighting| sighting.from == end);
        sent.filter_map(|sighting| match &sighting.packet {
            Packet::Data(data) if !carries_data(&sighting.packet) => {
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
