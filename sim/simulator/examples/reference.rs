//! The reference topology with real TCP endpoints: sources – 100 Mbit/s, 1 ms – base station – 10 Mbit/s, 10 ms,
//! one data packet in a thousand lost – mobile host. `NewReno`, an acknowledgement for each segment, 1400 bytes
//! of data in a packet, windows of 64 packets, queues of 200.
//!
//! `cargo run --release -p simulator --example reference -- FLOWS PACKETS [PCAP SNAP]` prints the delivered amount, the
//! run time by clock and by processor, and the memory use; `cargo xtask bench simulator` compares it with other
//! simulators. With PCAP it captures the hop at the mobile host, at most SNAP bytes of each packet.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures how long the simulation takes"
)]

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time;

use channel::{DirectionConfig, Link};
use machine::Machine;
use simulator::{
    Coding, End, Ending, Input, Limits, Line, NodeId, Output, Packet, Pcap, Port, Simulation,
};
use tcp::{Acknowledging, Config, Connection, Endpoint, Policy};
use units::{Bytes, Duration, Instant, SeqNumber};
use wire::TcpSegment;

/// Data in a packet, in bytes.
const SEGMENT: u16 = 1400;
/// Largest number of packets on their way.
const WINDOW: u64 = 64;
/// Flow f has this port plus f at the mobile host.
const FIRST_PORT: u16 = 5000;
const MOBILE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The port of every source.
const SOURCE_PORT: u16 = 4000;
const HOP: &str = "
[down]
rate = '10 Mbit/s'
delay = '10 ms'
queue = '200 packets'
errors = { model = 'independent', p = '0.1 %' }
[up]
rate = '10 Mbit/s'
delay = '10 ms'
queue = '200 packets'
";

/// A segment that crosses the links.
#[derive(Clone)]
struct Segment(TcpSegment);

impl Segment {
    /// Returns the number of its flow, from the port at the mobile host.
    fn number(&self) -> u16 {
        let (source, destination) = (self.0.source.port(), self.0.destination.port());
        source.max(destination) - FIRST_PORT
    }
}

impl Packet for Segment {
    type Flow = u16;

    fn length(&self) -> Bytes {
        Bytes::from(self.0.packet_length())
    }

    fn flow(&self) -> u16 {
        self.number()
    }
}

impl Coding for Segment {
    fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.resize(start + self.0.packet_length(), 0);
        self.0.encode(&mut into[start..]);
    }

    fn encode_head(&self, most: usize, into: &mut Vec<u8>) {
        let start = into.len();
        into.resize(start + self.0.packet_length().min(most), 0);
        self.0.encode_head(&mut into[start..]);
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (segment, _) = TcpSegment::parse(bytes).map_err(|error| error.to_string())?;
        Ok(Self(segment))
    }
}

/// A node.
enum Node {
    /// Port 0 is the hop, the source of flow f is at port f + 1.
    Base(VecDeque<(Port, Segment)>),
    /// Endpoints behind port 0.
    Host(Host),
}

/// Endpoints of one host; flow f, counted from the first, is the endpoint number f.
struct Host {
    first_flow: u16,
    endpoints: Vec<Endpoint>,
    /// Deadline of each endpoint.
    deadlines: Vec<Option<Instant>>,
    /// The same deadlines, ordered by time.
    order: BTreeSet<(Instant, usize)>,
    /// Endpoints that may have outputs.
    active: Vec<usize>,
    now: Instant,
}

impl Host {
    /// Returns a host that calls every endpoint at once, so that those that connect do.
    fn new(first_flow: u16, endpoints: Vec<Endpoint>) -> Self {
        Self {
            first_flow,
            deadlines: vec![Some(Instant::ZERO); endpoints.len()],
            order: (0..endpoints.len())
                .map(|number| (Instant::ZERO, number))
                .collect(),
            endpoints,
            active: Vec::new(),
            now: Instant::ZERO,
        }
    }

    fn receive(&mut self, now: Instant, packet: &Segment) {
        self.now = now;
        let number = usize::from(packet.number() - self.first_flow);
        self.endpoints[number].handle_input(now, tcp::Input::Segment(packet.0));
        self.active.push(number);
    }

    fn wake(&mut self, now: Instant) {
        self.now = now;
        while let Some(&(at, number)) = self.order.first()
            && at <= now
        {
            self.order.pop_first();
            self.deadlines[number] = None;
            self.endpoints[number].handle_timeout(now);
            self.active.push(number);
        }
    }

    /// Returns the next segment; data are read as they arrive.
    fn next(&mut self) -> Option<TcpSegment> {
        while let Some(&number) = self.active.last() {
            let endpoint = &mut self.endpoints[number];
            match endpoint.poll_output() {
                Some(tcp::Output::Segment(segment)) => return Some(segment),
                Some(tcp::Output::Readable(bytes)) => {
                    endpoint.handle_input(self.now, tcp::Input::Read(bytes));
                }
                Some(_) => {}
                None => {
                    self.active.pop();
                    self.note_deadline(number);
                }
            }
        }
        None
    }

    fn note_deadline(&mut self, number: usize) {
        let deadline = self.endpoints[number].poll_timeout();
        let before = std::mem::replace(&mut self.deadlines[number], deadline);
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, number));
        }
        if let Some(deadline) = deadline {
            self.order.insert((deadline, number));
        }
    }
}

impl Machine for Node {
    type Input = Input<Segment>;
    type Output = Output<Segment, ()>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        let (Input::Packet { port, packet } | Input::Corrupted { port, packet }) = input;
        match self {
            Self::Base(forwarded) => {
                let onward = match port {
                    Port(0) => Port(packet.number() + 1),
                    Port(_) => Port(0),
                };
                forwarded.push_back((onward, packet));
            }
            Self::Host(host) => host.receive(now, &packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Self::Host(host) = self {
            host.wake(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        let (port, packet) = match self {
            Self::Base(forwarded) => forwarded.pop_front()?,
            Self::Host(host) => (Port(0), Segment(host.next()?)),
        };
        Some(Output::Send { port, packet })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Base(_) => None,
            Self::Host(host) => host.order.first().map(|(at, _)| *at),
        }
    }
}

fn config() -> Config {
    let window = Bytes::new(WINDOW * u64::from(SEGMENT));
    let mut config = Config::modern().with_policy(Policy::NewReno);
    config.maximum_segment_size = SEGMENT;
    config.send_buffer = window;
    config.receive_buffer = window;
    config.timestamps = false;
    config.acknowledging = Acknowledging {
        delayed: false,
        ..Acknowledging::default()
    };
    config
}

fn source_address(flow: u16) -> SocketAddrV4 {
    let [high, low] = flow.to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(10, 1, high, low), SOURCE_PORT)
}

fn mobile_address(flow: u16) -> SocketAddrV4 {
    SocketAddrV4::new(MOBILE, FIRST_PORT + flow)
}

/// Returns a source that sends `packets` packets.
fn source(flow: u16, packets: u64) -> Result<Node, tcp::ConfigError> {
    let connection = Connection {
        local: source_address(flow),
        remote: mobile_address(flow),
        initial_sequence: SeqNumber(1),
    };
    let mut endpoint = Endpoint::new(connection, config())?;
    endpoint.handle_input(Instant::ZERO, tcp::Input::Connect);
    let bytes = packets * u64::from(SEGMENT);
    endpoint.handle_input(Instant::ZERO, tcp::Input::Write(bytes));
    Ok(Node::Host(Host::new(flow, vec![endpoint])))
}

fn mobile(flows: u16) -> Result<Node, tcp::ConfigError> {
    let endpoints = (0..flows).map(|flow| {
        let connection = Connection {
            local: mobile_address(flow),
            remote: source_address(flow),
            initial_sequence: SeqNumber(1),
        };
        Endpoint::listening(connection, config())
    });
    let endpoints = endpoints.collect::<Result<_, _>>()?;
    Ok(Node::Host(Host::new(0, endpoints)))
}

/// Returns the topology, and the mobile host in it.
fn topology(flows: u16, packets: u64) -> Result<(Simulation<Node>, NodeId), Box<dyn Error>> {
    let wire = Line::wire(DirectionConfig::steady(
        "100 Mbit/s".parse()?,
        Duration::from_millis(1),
        "200 packets".parse()?,
    ))?;
    let hop = Line::hop(&Link::from_toml(HOP, "hop")?, 1);
    let mut simulation = Simulation::new();
    let base = simulation.add("base", Node::Base(VecDeque::new()));
    let mobile = simulation.add("mobile", mobile(flows)?);
    simulation.connect((base, Port(0)), (mobile, Port(0)), &hop)?;
    for flow in 0..flows {
        let source = simulation.add("source", source(flow, packets / u64::from(flows))?);
        simulation.connect((source, Port(0)), (base, Port(flow + 1)), &wire)?;
    }
    Ok((simulation, mobile))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (flows, packets, capture) = match arguments.as_slice() {
        [flows, packets] => (flows, packets, None),
        [flows, packets, pcap, snap] => (flows, packets, Some((pcap, snap.parse()?))),
        _ => return Err("usage: reference FLOWS PACKETS [PCAP SNAP]".into()),
    };
    let (mut simulation, mobile) = topology(flows.parse()?, packets.parse()?)?;
    let hop = End {
        node: mobile,
        port: Port(0),
    };
    let begin = |(path, snap): (&String, u16)| -> Result<_, Box<dyn Error>> {
        Ok(Pcap::new(File::create(path)?, &simulation, &[hop], snap)?)
    };
    let mut pcap = capture.map(begin).transpose()?;
    let limits = Limits::until(Instant::from_nanos(u64::MAX - 1));
    let begun_processor = processor_seconds()?;
    let begun = time::Instant::now();
    let ending = match &mut pcap {
        Some(pcap) => simulation.run(limits, pcap)?,
        None => simulation.run(limits, &mut ())?,
    };
    pcap.map(Pcap::finish).transpose()?;
    let seconds = begun.elapsed().as_secs_f64();
    let processor = processor_seconds()? - begun_processor;
    if ending != Ending::Idle {
        return Err(format!("the transfer did not end: {ending:?}").into());
    }
    let Node::Host(host) = simulation.node(mobile) else {
        return Err("the mobile is a host".into());
    };
    let endpoints = host.endpoints.iter();
    let bytes: u64 = endpoints.map(|end| end.counters().received.bytes).sum();
    println!(
        "{{\"packets\": {}, \"seconds\": {seconds}, \"processor_seconds\": {processor}, \"peak_kib\": {}}}",
        bytes / u64::from(SEGMENT),
        memory_peak()?
    );
    Ok(())
}

/// Returns the processor time of this process, in seconds.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds = text.split_whitespace().next();
    let nanoseconds: f64 = nanoseconds
        .ok_or("the kernel tells no processor time")?
        .parse()?;
    Ok(nanoseconds / 1e9)
}

/// Returns the largest resident memory of this process so far, in KiB.
fn memory_peak() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("the kernel tells no memory peak")?.parse()?)
}
