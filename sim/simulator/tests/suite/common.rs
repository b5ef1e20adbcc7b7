//! Shared parts of the simulator's tests: a small packet, a sender with a fixed window and retransmission, a receiver,
//! and a forwarder.

use std::collections::VecDeque;

use channel::{DirectionConfig, Link};
use machine::Machine;
use simulator::{Coding, Input, Line, LinkId, NodeId, Output, Packet, Port, Simulation};
use units::{Bytes, Duration, Instant};

/// A packet of a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) flow: u16,
    /// For data: its number; for an acknowledgement: the number that is expected next.
    pub(crate) number: u64,
    pub(crate) length: u16,
}

impl Packet for Parcel {
    type Flow = u16;

    fn length(&self) -> Bytes {
        Bytes::new(u64::from(self.length))
    }

    fn flow(&self) -> u16 {
        self.flow
    }
}

impl Coding for Parcel {
    fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.extend_from_slice(&self.flow.to_be_bytes());
        into.extend_from_slice(&self.number.to_be_bytes());
        into.resize(start + usize::from(self.length), 0x55);
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let short = |_| "shorter than its header".to_owned();
        let (flow, rest) = bytes.split_at_checked(2).ok_or("no flow")?;
        let (number, _) = rest.split_at_checked(8).ok_or("no number")?;
        Ok(Self {
            flow: u16::from_be_bytes(flow.try_into().map_err(short)?),
            number: u64::from_be_bytes(number.try_into().map_err(short)?),
            length: bytes.len() as u16,
        })
    }
}

/// An event of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestMessage {
    /// Everything was acknowledged.
    Done,
    /// A packet arrived with an error.
    Heard(u64),
}

pub(crate) const DATA: u16 = 1400;
pub(crate) const ACK: u16 = 40;

/// Sends `total` packets with at most `window` on their way; after a timeout it sends all unacknowledged packets again.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) flow: u16,
    pub(crate) window: u64,
    pub(crate) total: u64,
    pub(crate) next: u64,
    pub(crate) acknowledged: u64,
    pub(crate) timeouts: u64,
    pub(crate) deadline: Option<Instant>,
}

impl Sender {
    const TIMEOUT: Duration = Duration::from_millis(300);

    pub(crate) fn new(flow: u16, window: u64, total: u64) -> Self {
        Self {
            flow,
            window,
            total,
            next: 0,
            acknowledged: 0,
            timeouts: 0,
            deadline: Some(Instant::ZERO),
        }
    }

    fn fill(&mut self, now: Instant, outputs: &mut VecDeque<Output<Parcel, TestMessage>>) {
        while self.next < self.total.min(self.acknowledged + self.window) {
            let packet = Parcel {
                flow: self.flow,
                number: self.next,
                length: DATA,
            };
            self.next += 1;
            outputs.push_back(Output::Send {
                port: Port(0),
                packet,
            });
        }
        let open = self.acknowledged < self.total;
        self.deadline = open.then_some(now + Self::TIMEOUT);
    }
}

/// Role of a node.
#[derive(Debug, Clone)]
pub(crate) enum Role {
    Sender(Sender),
    /// Acknowledges what it has in order.
    Receiver {
        flow: u16,
        expected: u64,
    },
    /// Forwards packets from an even port to the next odd one, and back.
    Forwarder,
    /// Forwards every packet to port 1.
    Ring,
    /// Sets a deadline in the present again and again.
    Spinner(Instant),
}

#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) role: Role,
    outputs: VecDeque<Output<Parcel, TestMessage>>,
}

impl Host {
    pub(crate) fn new(role: Role) -> Self {
        Self {
            role,
            outputs: VecDeque::new(),
        }
    }

    fn receive(&mut self, now: Instant, port: Port, packet: Parcel) {
        match &mut self.role {
            Role::Sender(sender) => {
                if packet.number > sender.acknowledged {
                    sender.acknowledged = packet.number;
                    sender.next = sender.next.max(packet.number);
                    sender.fill(now, &mut self.outputs);
                    if sender.acknowledged == sender.total {
                        self.outputs.push_back(Output::Event(TestMessage::Done));
                    }
                }
            }
            Role::Receiver { flow, expected } => {
                *expected += u64::from(packet.number == *expected);
                let packet = Parcel {
                    flow: *flow,
                    number: *expected,
                    length: ACK,
                };
                self.outputs.push_back(Output::Send { port, packet });
            }
            Role::Forwarder => {
                let port = Port(port.0 ^ 1);
                self.outputs.push_back(Output::Send { port, packet });
            }
            Role::Ring => self.outputs.push_back(Output::Send {
                port: Port(1),
                packet,
            }),
            Role::Spinner(_) => {}
        }
    }
}

impl Machine for Host {
    type Input = Input<Parcel>;
    type Output = Output<Parcel, TestMessage>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        match input {
            Input::Packet { port, packet } => self.receive(now, port, packet),
            Input::Corrupted { packet, .. } => {
                let heard = TestMessage::Heard(packet.number);
                self.outputs.push_back(Output::Event(heard));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match &mut self.role {
            Role::Sender(sender) if sender.deadline.is_some_and(|at| at <= now) => {
                sender.timeouts += u64::from(sender.next > 0);
                sender.next = sender.acknowledged;
                sender.fill(now, &mut self.outputs);
            }
            Role::Spinner(at) => *at = now,
            _ => {}
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.role {
            Role::Sender(sender) => sender.deadline,
            Role::Spinner(at) => Some(*at),
            Role::Receiver { .. } | Role::Forwarder | Role::Ring => None,
        }
    }
}

pub(crate) fn wire(rate: &str, delay: &str, queue: &str) -> Line {
    let each = DirectionConfig::steady(
        rate.parse().expect("a rate"),
        delay.parse().expect("a delay"),
        queue.parse().expect("a queue"),
    );
    Line::wire(each).expect("a wire")
}

/// Returns the hop of these tests: 10 Mbit/s, 10 ms and these errors.
pub(crate) fn hop(errors: &str, seed: u64) -> Line {
    let text = format!(
        "errors = {{ {errors} }}\n[each]\nrate = '10 Mbit/s'\ndelay = '10 ms'\nqueue = '200 packets'"
    );
    Line::hop(&Link::from_toml(&text, "hop").expect("a link"), seed)
}

/// Source, base station and mobile, and the links between them.
pub(crate) struct Path {
    pub(crate) source: NodeId,
    pub(crate) base: NodeId,
    pub(crate) mobile: NodeId,
    pub(crate) wire: LinkId,
    pub(crate) hop: LinkId,
}

/// Returns a sender, 100 Mbit/s and 1 ms, a forwarder, `hop`, a receiver.
pub(crate) fn path<N: simulator::Node>(
    simulation: &mut Simulation<N>,
    wrap: impl Fn(Host) -> N,
    sender: Sender,
    hop: &Line,
) -> Path {
    let flow = sender.flow;
    let source = simulation.add("source", wrap(Host::new(Role::Sender(sender))));
    let base = simulation.add("base", wrap(Host::new(Role::Forwarder)));
    let receiver = Role::Receiver { flow, expected: 0 };
    let mobile = simulation.add("mobile", wrap(Host::new(receiver)));
    let wired = wire("100 Mbit/s", "1 ms", "200 packets");
    let (zero, one) = (Port(0), Port(1));
    let wire = simulation.connect((source, zero), (base, zero), &wired);
    let hop = simulation.connect((base, one), (mobile, zero), hop);
    Path {
        source,
        base,
        mobile,
        wire: wire.expect("free ports"),
        hop: hop.expect("free ports"),
    }
}
