//! A peer with the right key and the wrong behaviour.

use std::collections::VecDeque;

use hosts::{Input, Output};
use machine::Machine;
use session::{
    DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Limits, PeerConfig, PeerId, Received, Role,
};
use units::{Duration, Instant};
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use super::cell::{name, place};
use super::{build, private_key};

/// Time between two actions of its own.
const TICK: Duration = Duration::from_millis(20);

/// Behaviour of the intruder: frames are given as plaintext.
pub(crate) trait Behaviour {
    /// A frame has come, with this number.
    fn heard(&mut self, _now: Instant, _number: u32) {}

    /// The frames that it sends at a tick.
    fn tick(&mut self, now: Instant) -> Vec<Vec<u8>>;
}

/// It says nothing.
pub(crate) struct Silent;

impl Behaviour for Silent {
    fn tick(&mut self, _now: Instant) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// It keeps its session as a mobile does, and does what it likes with frames.
pub(crate) struct Intruder<B> {
    endpoint: Endpoint,
    gateway: PeerId,
    behaviour: B,
    outputs: VecDeque<Output>,
    next: Instant,
    is_connected: bool,
}

/// An endpoint of that name which knows the gateway, in one of several lives: each has its own random draws, and a
/// later time.
pub(crate) fn endpoint(name_of: &str, life: u64) -> (Endpoint, PeerId) {
    let config = session::Config {
        private_key: private_key(name_of),
        wall_clock_at_origin: 1_800_000_000_000_000_000 + (life << 26),
        limits: Limits::default(),
    };
    let draws = build::entropy(life, &format!("draws of {name_of}"));
    let mut endpoint = Endpoint::new(config, draws);
    let gateway = PeerConfig {
        public_key: private_key(&name(0)).public_key(),
        preshared_key: None,
        role: Role::Initiator,
        features: 0,
    };
    let id = endpoint.add_peer(gateway).expect("the keys differ");
    (endpoint, id)
}

impl<B: Behaviour> Intruder<B> {
    /// It takes the place of a mobile, by number from 0.
    pub(crate) fn new(mobile: usize, behaviour: B) -> Self {
        let (endpoint, gateway) = endpoint(&name(mobile + 1), 0);
        Self {
            endpoint,
            gateway,
            behaviour,
            outputs: VecDeque::new(),
            next: Instant::ZERO,
            is_connected: false,
        }
    }

    /// Returns true if it has had keys since it started.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// It forgets all but its key, which is that of a mobile.
    pub(crate) fn begin_again(&mut self, now: Instant, mobile: usize, life: u64) {
        (self.endpoint, self.gateway) = endpoint(&name(mobile + 1), life);
        self.is_connected = false;
        self.handle_input(now, Input::Wall(0));
    }

    fn carry(&mut self) {
        while let Some(output) = self.endpoint.poll_output() {
            match output {
                session::Output::Transmit { datagram, .. } => self.send(&datagram),
                session::Output::Event(event) => {
                    self.is_connected |= matches!(event, session::Event::Established { .. });
                }
            }
        }
    }

    fn send(&mut self, datagram: &[u8]) {
        let (to, buffer) = (place(0), PacketBuffer::copy_of(datagram));
        let ecn = Ecn::NotCapable;
        self.outputs.push_back(Output::Datagram { to, buffer, ecn });
    }
}

impl<B: Behaviour> Machine for Intruder<B> {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Wall(_) => self.endpoint.connect(now, self.gateway).expect("it begins"),
            Input::Datagram { mut buffer, .. } => {
                let received = self.endpoint.handle_datagram(now, &mut buffer);
                if let Received::Data { plaintext, .. } = received
                    && let Some(number) = plaintext.get(1..5)
                {
                    let number = number
                        .iter()
                        .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
                    self.behaviour.heard(now, number);
                }
            }
            _ => {}
        }
        self.carry();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        self.carry();
        if now < self.next {
            return;
        }
        self.next = now + TICK;
        for frame in self.behaviour.tick(now) {
            let mut datagram = vec![0; DATA_HEADER_BYTES];
            datagram.extend(&frame);
            datagram.resize(frame.len() + DATA_OVERHEAD_BYTES, 0);
            // Without keys there is nothing to send yet.
            if self.endpoint.seal(now, self.gateway, &mut datagram).is_ok() {
                self.send(&datagram);
            }
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        machine::earlier(self.endpoint.poll_timeout(), Some(self.next))
    }
}

/// The initiation of an endpoint.
pub(crate) fn initiation(name_of: &str, life: u64) -> Vec<u8> {
    let (mut endpoint, gateway) = endpoint(name_of, life);
    let now = Instant::ZERO;
    endpoint.connect(now, gateway).expect("it begins");
    let output = endpoint.poll_output();
    let Some(session::Output::Transmit { datagram, .. }) = output else {
        panic!("it asks for nothing");
    };
    datagram
}

/// The beginning of the frame of that number.
pub(crate) fn frame(number: u32) -> Vec<u8> {
    let mut bytes = vec![0x10];
    bytes.extend(number.to_be_bytes());
    bytes
}

/// A number as frames write it (RFC 9000 §16), in eight bytes.
pub(crate) fn varint(value: u64) -> [u8; 8] {
    (value | 3 << 62).to_be_bytes()
}

/// A chunk with bytes of a stream.
pub(crate) fn stream(flow: u64, offset: u32, bytes: &[u8]) -> Vec<u8> {
    let mut chunk = vec![0x11];
    chunk.extend(varint(flow));
    chunk.extend(offset.to_be_bytes());
    chunk.extend((bytes.len() as u16).to_be_bytes());
    chunk.extend(bytes);
    chunk
}

/// A chunk with a whole brief packet.
pub(crate) fn brief(number: u32, packet: &[u8]) -> Vec<u8> {
    let mut chunk = vec![0x23];
    chunk.extend(number.to_be_bytes());
    chunk.extend((packet.len() as u16 + 2).to_be_bytes());
    chunk.extend([0, packet.len() as u8]);
    chunk.extend(packet);
    chunk
}

/// A chunk that acknowledges `largest` and `first` before it, and the ranges given as gap and run.
pub(crate) fn acknowledgement(
    largest: u32,
    arrival: u32,
    first: u64,
    ranges: &[(u64, u64)],
) -> Vec<u8> {
    let mut chunk = vec![0x30];
    chunk.extend(largest.to_be_bytes());
    chunk.extend(arrival.to_be_bytes());
    chunk.push(0);
    chunk.extend(varint(first));
    chunk.push(ranges.len() as u8);
    for (gap, run) in ranges {
        chunk.extend(varint(*gap));
        chunk.extend(varint(*run));
    }
    chunk
}
