//! A small language for tests of one end: packets in, air granted, frames out, acknowledgements in.

use arq::{Arq, Config, Input, LinkEvent, Output, Sample, Stats};
use machine::Machine;
use units::{Bytes, Duration, Instant};
use wire::flow::{Class, FlowKey};
use wire::hop::{AckFields, Chunk, EcnCounts, Frame, FrameWriter};
use wire::ip::{Ecn, Protocol};
use wire::packet::{Packet, PacketBuffer};

/// Bytes of a frame in these tests.
pub(crate) const FRAME: usize = 1_400;
/// Bytes of a packet whose record nearly fills a frame.
pub(crate) const FULL: usize = 1_380;

/// One end as most tests want it.
pub(crate) fn usual() -> Config {
    Config::new(FRAME, 60)
}

/// Chunk that a frame carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carried {
    Stream {
        flow: u64,
        start: u32,
        length: usize,
        end: bool,
    },
    Brief {
        packet: u32,
        start: u16,
        length: usize,
        end: bool,
    },
    /// The length of a packet of the split transport.
    Transport(usize),
    Probe {
        after_long: bool,
    },
    Padding(usize),
    /// Ranges of received numbers, from the highest down.
    Ack(Vec<(u64, u64)>),
}

/// A frame that left.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) number: u64,
    pub(crate) bytes: PacketBuffer,
    pub(crate) ecn: Ecn,
    pub(crate) chunks: Vec<Carried>,
}

impl Sent {
    fn read(at: Instant, bytes: PacketBuffer, ecn: Ecn) -> Self {
        let frame = Frame::parse(&bytes).expect("a frame that can be read");
        let number = u64::from(frame.number);
        let chunks = frame
            .chunks()
            .map(|chunk| carried(&chunk.expect("a chunk")))
            .collect();
        Self {
            at,
            number,
            bytes,
            ecn,
            chunks,
        }
    }

    /// Returns its chunks except for acknowledgements.
    pub(crate) fn content(&self) -> Vec<Carried> {
        let is_content = |chunk: &&Carried| !matches!(chunk, Carried::Ack(_));
        self.chunks.iter().filter(is_content).cloned().collect()
    }

    /// Bytes of the stream of `flow` that it carried.
    pub(crate) fn stream_bytes(&self, wanted: u64) -> usize {
        let bytes = |chunk: &Carried| match chunk {
            Carried::Stream { flow, length, .. } if *flow == wanted => *length,
            _ => 0,
        };
        self.chunks.iter().map(bytes).sum()
    }

    pub(crate) fn has_brief(&self) -> bool {
        let is_brief = |chunk: &Carried| matches!(chunk, Carried::Brief { .. });
        self.chunks.iter().any(is_brief)
    }
}

fn carried(chunk: &Chunk<'_>) -> Carried {
    match *chunk {
        Chunk::Stream {
            flow,
            offset,
            end,
            bytes,
        } => Carried::Stream {
            flow,
            start: offset,
            length: bytes.len(),
            end,
        },
        Chunk::Brief {
            packet,
            offset,
            end,
            bytes,
            ..
        } => Carried::Brief {
            packet,
            start: offset,
            length: bytes.len(),
            end,
        },
        Chunk::Transport(bytes) => Carried::Transport(bytes.len()),
        Chunk::Ack(ack) => {
            let mut ranges = Vec::new();
            ack.visit(u64::from(ack.largest), |start, end| {
                ranges.push((start, end));
            })
            .expect("an acknowledgement that makes sense");
            Carried::Ack(ranges)
        }
        Chunk::Probe { after_long } => Carried::Probe { after_long },
        Chunk::Padding(length) => Carried::Padding(length),
    }
}

/// The key of the flow with this number.
pub(crate) fn key(flow: u16) -> FlowKey {
    FlowKey {
        protocol: Protocol::TCP,
        source: [192, 0, 2, 1].into(),
        destination: [10, 9, 0, 2].into(),
        source_port: 80,
        destination_port: flow,
    }
}

/// A packet that names its flow and its place in it; the repair does not care that it is not IP.
pub(crate) fn packet(flow: u16, place: u32, length: usize) -> Packet {
    let mut bytes: Vec<u8> = (0..length).map(|at| (at as u32 ^ place) as u8).collect();
    bytes[..2].copy_from_slice(&flow.to_be_bytes());
    bytes[2..6].copy_from_slice(&place.to_be_bytes());
    Packet::new(PacketBuffer::copy_of(&bytes))
}

/// Flow and place of a packet made by [`packet`].
pub(crate) fn name(packet: &Packet) -> (u16, u32) {
    let at = |place: usize| packet[place];
    (
        u16::from_be_bytes([at(0), at(1)]),
        u32::from_be_bytes([at(2), at(3), at(4), at(5)]),
    )
}

/// One end and all that it has put out.
pub(crate) struct Script {
    pub(crate) arq: Arq,
    pub(crate) now: Instant,
    pub(crate) packets: Vec<Packet>,
    /// Packets of the split transport that were released.
    pub(crate) transport: Vec<(u64, PacketBuffer)>,
    pub(crate) events: Vec<LinkEvent>,
    pub(crate) samples: Vec<Sample>,
    frames: Vec<Sent>,
    places: std::collections::BTreeMap<u16, u32>,
    peer_number: u64,
    /// Number of timeouts handled.
    pub(crate) calls: u64,
    /// Counts of marks in the other end's acknowledgements.
    pub(crate) counts: Option<EcnCounts>,
}

impl Script {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            arq: Arq::new(config),
            now: Instant::from_millis(1_000),
            packets: Vec::new(),
            transport: Vec::new(),
            events: Vec::new(),
            samples: Vec::new(),
            frames: Vec::new(),
            places: std::collections::BTreeMap::new(),
            peer_number: 0,
            calls: 0,
            counts: None,
        }
    }

    /// One that knows that the hop's round trip is `round_trip`, always the same, and that nothing gets lost.
    pub(crate) fn knowing(config: Config, round_trip: Duration) -> Self {
        let mut script = Self::new(config);
        for _ in 0..400 {
            script.brief(u16::MAX, 40);
            let number = script.send(1)[0].number;
            script.wait(round_trip);
            script.ack(&[(number, number)]);
        }
        script.places.remove(&u16::MAX);
        script
    }

    /// One that knows, beside that, that a silence has lost what was on its way; but no fade is to be expected.
    pub(crate) fn losing(config: Config, round_trip: Duration) -> Self {
        let mut script = Self::knowing(config, round_trip);
        script.brief(u16::MAX, 40);
        let sent = script.run(round_trip * 10, Duration::from_millis(1));
        let last = sent[sent.len() - 1].number;
        script.ack(&[(last, last)]);
        script.wait(Duration::from_secs(40));
        script.places.remove(&u16::MAX);
        script.events.clear();
        script
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.arq.handle_input(self.now, input);
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.arq.poll_output() {
            match output {
                Output::Frame { frame, ecn } => {
                    self.frames.push(Sent::read(self.now, frame, ecn));
                }
                Output::Packet(packet) => self.packets.push(packet),
                Output::Transport(number, packet) => self.transport.push((number, packet)),
                Output::Event(event) => self.events.push(event),
                Output::Sample(sample) => self.samples.push(sample),
                Output::Silence => {}
            }
        }
    }

    fn queue(&mut self, flow: u16, length: usize, class: Class) {
        let place = self.places.entry(flow).or_default();
        let packet = packet(flow, *place, length);
        *place += 1;
        let key = key(flow);
        self.input(Input::Packet { packet, key, class });
    }

    /// A packet of a held flow.
    pub(crate) fn held(&mut self, flow: u16, length: usize) {
        self.queue(flow, length, Class::Held);
    }

    /// Several full packets of a held flow.
    pub(crate) fn bulk(&mut self, flow: u16, count: usize) {
        (0..count).for_each(|_| self.held(flow, FULL));
    }

    /// A packet of a brief flow.
    pub(crate) fn brief(&mut self, flow: u16, length: usize) {
        self.queue(flow, length, Class::Brief);
    }

    /// Grants the air for up to `count` frames and returns those that left.
    pub(crate) fn send(&mut self, count: usize) -> Vec<Sent> {
        for _ in 0..count {
            self.input(Input::AirFree(Bytes::new(1)));
        }
        std::mem::take(&mut self.frames)
    }

    /// Sends all that can leave now.
    pub(crate) fn send_all(&mut self) -> Vec<Sent> {
        self.input(Input::AirFree(Bytes::mebi(64)));
        std::mem::take(&mut self.frames)
    }

    /// Time passes; timers go off, but nobody grants the air.
    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.arq.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.arq.handle_timeout(self.now);
            self.calls += 1;
            self.drain();
        }
        self.now = end;
    }

    /// Time passes on an air that is free for one frame every `spacing`; returns what left.
    pub(crate) fn run(&mut self, span: Duration, spacing: Duration) -> Vec<Sent> {
        let end = self.now + span;
        let mut sent = Vec::new();
        while self.now < end {
            if self.arq.wants_air(self.now) {
                sent.extend(self.send(1));
            }
            self.wait(spacing);
        }
        sent
    }

    /// A frame comes from the other end, written by `write`.
    pub(crate) fn hear(&mut self, write: impl FnOnce(&mut FrameWriter)) {
        let buffer = PacketBuffer::with_room(32 + FRAME + 32, 32);
        let mut frame = FrameWriter::new(buffer, self.peer_number, FRAME);
        self.peer_number += 1;
        write(&mut frame);
        self.receive(frame.finish());
    }

    /// The other end acknowledges `ranges`, from the highest down.
    pub(crate) fn ack(&mut self, ranges: &[(u64, u64)]) {
        let fields = AckFields {
            largest: ranges[0].1,
            arrival: self.now.since_origin().as_micros() as u32,
            delay: 0,
            counts: self.counts,
        };
        self.hear(|frame| {
            assert!(frame.ack(fields, ranges.iter().copied(), FRAME), "no room");
        });
    }

    pub(crate) fn receive(&mut self, frame: PacketBuffer) {
        self.receive_with(frame, Ecn::NotCapable);
    }

    /// A frame comes in an IP packet with this field.
    pub(crate) fn receive_with(&mut self, frame: PacketBuffer, ecn: Ecn) {
        let arrived = self.now;
        self.input(Input::Frame {
            arrived,
            frame,
            ecn,
        });
    }

    pub(crate) fn receive_all(&mut self, frames: &[Sent]) {
        for frame in frames {
            self.receive(frame.bytes.clone());
        }
    }

    /// Flow and place of every packet released so far.
    pub(crate) fn released(&self) -> Vec<(u16, u32)> {
        self.packets.iter().map(name).collect()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.arq.stats()
    }
}
