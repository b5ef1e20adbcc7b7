//! Nodes whose packets cross the links as bytes.

use units::{Bytes, Instant};

use crate::node::{Input, Node, Output};
use crate::packet::{Coding, Packet};

/// A packet as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPacket<F> {
    bytes: Box<[u8]>,
    flow: F,
    ahead: bool,
}

impl<F: Copy + Ord + std::fmt::Debug> Packet for EncodedPacket<F> {
    type Flow = F;

    fn length(&self) -> Bytes {
        Bytes::from(self.bytes.len())
    }

    fn flow(&self) -> F {
        self.flow
    }

    fn goes_ahead(&self) -> bool {
        self.ahead
    }
}

/// A node whose packets are encoded when it sends them and parsed when it receives them. A simulation of such nodes
/// must give the same results as a simulation of the nodes themselves.
#[derive(Debug, Clone)]
pub struct Encoded<N>(pub N);

impl<N> Encoded<N>
where
    N: Node,
    N::Packet: Coding,
{
    fn parse(packet: &EncodedPacket<<N::Packet as Packet>::Flow>) -> N::Packet {
        match N::Packet::parse(&packet.bytes) {
            Ok(parsed) => parsed,
            // Both encoder and parser are ours, and a channel changes no byte.
            Err(problem) => panic!("a packet that we encoded does not parse: {problem}"),
        }
    }
}

impl<N> machine::Machine for Encoded<N>
where
    N: Node,
    N::Packet: Coding,
{
    type Input = Input<EncodedPacket<<N::Packet as Packet>::Flow>>;
    type Output = Output<EncodedPacket<<N::Packet as Packet>::Flow>, N::Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        let input = match input {
            Input::Packet { port, packet } => Input::Packet {
                port,
                packet: Self::parse(&packet),
            },
            Input::Corrupted { port, packet } => Input::Corrupted {
                port,
                packet: Self::parse(&packet),
            },
        };
        self.0.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        Some(match self.0.poll_output()? {
            Output::Send { port, packet } => {
                let mut bytes = Vec::with_capacity(packet.length().get() as usize);
                packet.encode(&mut bytes);
                let packet = EncodedPacket {
                    bytes: bytes.into_boxed_slice(),
                    flow: packet.flow(),
                    ahead: packet.goes_ahead(),
                };
                Output::Send { port, packet }
            }
            Output::Event(event) => Output::Event(event),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
}
