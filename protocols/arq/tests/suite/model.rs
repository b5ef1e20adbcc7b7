//! Two ends, a link that does what a tape of bytes says, and a reference that knows what must come out.

use std::collections::{BTreeMap, VecDeque};

use arq::{Arq, Config, Input, Output};
use machine::Machine;
use proptest::prelude::*;
use simulator::testing::{Clock, Next};
use units::{BitRate, Bytes, Duration, Instant};
use wire::flow::{Class, FlowKey};
use wire::ip::Ecn;
use wire::ip::Protocol;
use wire::packet::{Packet, PacketBuffer};

use crate::repair::script::{key, name, packet};

/// Bytes that decide; after the last one nothing goes wrong any more.
struct Tape {
    bytes: VecDeque<u8>,
}

impl Tape {
    fn next(&mut self) -> Option<u8> {
        self.bytes.pop_front()
    }
}

/// Packets that one end must get from the other.
#[derive(Default)]
struct Expected {
    held: BTreeMap<u16, VecDeque<PacketBuffer>>,
    brief: BTreeMap<(u16, u32), PacketBuffer>,
    places: BTreeMap<u16, u32>,
}

struct World {
    config: Config,
    ends: [Arq; 2],
    free_at: [Instant; 2],
    clock: Clock<(usize, PacketBuffer)>,
    tape: Tape,
    /// By receiving end.
    expected: [Expected; 2],
    last_arrival: [Instant; 2],
    reorders: bool,
    rate: BitRate,
}

const DELAY: Duration = Duration::from_millis(20);

impl World {
    fn new(tape: Vec<u8>) -> Self {
        let mut tape = Tape { bytes: tape.into() };
        let choice = tape.next().unwrap_or(0);
        let reorders = choice & 1 != 0;
        let config = Config {
            reorder: if choice & 2 == 0 { 0 } else { 3 },
            ..Config::new(if choice & 4 == 0 { 1_400 } else { 300 }, 60)
        };
        Self {
            ends: [config.clone(), config.clone()].map(Arq::new),
            config,
            free_at: [Instant::ZERO; 2],
            clock: Clock::new(Instant::ZERO),
            tape,
            expected: <[Expected; 2]>::default(),
            last_arrival: [Instant::ZERO; 2],
            reorders,
            rate: BitRate::from_megabits(if choice & 8 == 0 { 2 } else { 100 }),
        }
    }

    /// A packet of a length and a flow that the tape chooses.
    fn queue(&mut self, choice: u8) {
        let from = usize::from(choice & 1);
        let flow = u16::from(choice >> 2);
        let (class, protocol) = match choice & 2 {
            0 => (Class::Held, Protocol::TCP),
            _ => (Class::Brief, Protocol::UDP),
        };
        let key = FlowKey {
            protocol,
            ..key(flow)
        };
        let length = 6 + 23 * usize::from(self.tape.next().unwrap_or(1));
        let expected = &mut self.expected[1 - from];
        let place = expected.places.entry(flow).or_default();
        let packet = packet(flow, *place, length);
        let buffer = PacketBuffer::copy_of(&packet);
        match class {
            Class::Held => expected.held.entry(flow).or_default().push_back(buffer),
            Class::Brief => drop(expected.brief.insert((flow, *place), buffer)),
        }
        *place += 1;
        self.input(from, Input::Packet { packet, key, class });
    }

    /// Both ends begin anew: what is in flight is lost, and what neither has delivered goes on.
    fn move_on(&mut self) {
        self.clock.clear();
        let reports = [0, 1].map(|end: usize| {
            let report = self.ends[end].report();
            self.pass_on(end);
            report
        });
        let new = [&self.config, &self.config].map(|config| Arq::new(config.clone()));
        let former = std::mem::replace(&mut self.ends, new);
        for ((end, former), other) in former.into_iter().enumerate().zip([1, 0]) {
            let withdrawn = former.withdraw(Some(&reports[other]));
            assert!(withdrawn.is_whole, "a report that fits");
            for packet in withdrawn.packets {
                let (flow, place) = name(&packet);
                let is_brief = self.expected[other].brief.contains_key(&(flow, place));
                let (class, protocol) = if is_brief {
                    (Class::Brief, Protocol::UDP)
                } else {
                    (Class::Held, Protocol::TCP)
                };
                let key = FlowKey {
                    protocol,
                    ..key(flow)
                };
                self.input(end, Input::Packet { packet, key, class });
            }
        }
    }

    fn input(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(self.clock.now, input);
        self.pump(end);
    }

    /// Grants the air while it is free, and carries out what comes out.
    fn pump(&mut self, end: usize) {
        loop {
            self.pass_on(end);
            if self.free_at[end] > self.clock.now || !self.ends[end].wants_air(self.clock.now) {
                return;
            }
            let before = self.free_at[end];
            self.ends[end].handle_input(self.clock.now, Input::AirFree(Bytes::new(1)));
            while let Some(output) = self.ends[end].poll_output() {
                if let Output::Frame { frame, .. } = output {
                    self.launch(end, &frame);
                }
            }
            if self.free_at[end] == before {
                return;
            }
        }
    }

    /// Carries out what comes out of an end.
    fn pass_on(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll_output() {
            match output {
                Output::Frame { frame, .. } => self.launch(end, &frame),
                Output::Packet(packet) => self.released(end, &packet),
                Output::Transport(..) | Output::Event(_) | Output::Sample(_) | Output::Silence => {}
            }
        }
    }

    fn launch(&mut self, from: usize, frame: &PacketBuffer) {
        let span = self.rate.time_for(Bytes::from(frame.len() + 60));
        self.free_at[from] = self.clock.now + span;
        let mut copies = 1;
        let mut late = Duration::ZERO;
        match self.tape.next() {
            Some(0..=60) => copies = 0,
            Some(61..=80) => copies = 2,
            Some(byte @ 81..=120) => late = Duration::from_millis(u64::from(byte) - 80),
            _ => {}
        }
        let mut due = self.free_at[from] + DELAY + late;
        if !self.reorders {
            due = due.max(self.last_arrival[from]);
            self.last_arrival[from] = due;
        }
        for _ in 0..copies {
            self.clock.add(due, (1 - from, frame.clone()));
        }
    }

    fn released(&mut self, end: usize, packet: &Packet) {
        let (bytes, (flow, place)) = (&packet[..], name(packet));
        let expected = &mut self.expected[end];
        if let Some(brief) = expected.brief.remove(&(flow, place)) {
            assert!(*brief == *bytes, "a brief packet has changed");
            return;
        }
        let next = expected.held.get_mut(&flow).and_then(VecDeque::pop_front);
        assert!(
            next.as_deref() == Some(bytes),
            "flow {flow}: place {place} was not next, or came twice, or has changed"
        );
    }

    fn run(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            let now = self.clock.now;
            let ends = (0..2).flat_map(|end| {
                let grant = self.ends[end].air_wanted_from();
                let grant = grant.map(|at| at.max(self.free_at[end]).max(now));
                [self.ends[end].poll_timeout(), grant]
            });
            match self.clock.advance(end, ends.flatten().min()) {
                Next::Event((to, frame)) => {
                    let (arrived, ecn) = (self.clock.now, Ecn::NotCapable);
                    let input = Input::Frame {
                        arrived,
                        frame,
                        ecn,
                    };
                    self.input(to, input);
                }
                Next::Deadline => {
                    for end in 0..2 {
                        self.ends[end].handle_timeout(self.clock.now);
                        self.pump(end);
                    }
                }
                Next::End => return,
            }
        }
    }
}

fn run(tape: Vec<u8>) {
    let mut world = World::new(tape);
    for _ in 0..300 {
        let Some(choice) = world.tape.next() else {
            break;
        };
        world.queue(choice);
        if choice % 29 == 0 {
            world.move_on();
        }
        if choice % 5 == 0 {
            world.run(Duration::from_millis(u64::from(choice)));
        }
    }
    // All that may go wrong has gone wrong after a while; then everything must come to rest.
    world.run(Duration::from_secs(40));
    for (end, expected) in world.expected.iter().enumerate() {
        let missing: usize = expected.held.values().map(VecDeque::len).sum();
        assert_eq!(missing, 0, "end {end} never got {missing} held packets");
    }
    for (number, end) in world.ends.iter().enumerate() {
        assert_eq!(end.queued().get(), 0, "packets wait at end {number}");
        assert_eq!(end.held().get(), 0, "bytes are held at end {number}");
        assert_eq!(end.stats().received.chunks_refused, 0);
        assert_eq!(end.stats().sent.acks_refused, 0);
    }
    // Idle flows end, and then nothing happens any more.
    world.run(Duration::from_secs(100));
    for end in &world.ends {
        assert_eq!(end.flows(), 0);
        assert!(!end.wants_air(world.clock.now));
        assert_eq!(end.poll_timeout(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn held_packets_arrive_once_in_order_and_everything_comes_to_rest(
        tape in proptest::collection::vec(any::<u8>(), 1..3_000),
    ) {
        run(tape);
    }
}
