//! The TCP of one association: repaired by the link layer, or in the plain lane, with the snoop protocol or without.

use std::collections::VecDeque;

use arq::QueueOrder;
use machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use snoop::{Agent, Limits, Mobile, MobileConfig};
use units::{Bytes, Instant};
use wire::flow::FlowKey;
use wire::ip::Version;
use wire::packet::Packet;
use wire::segment::Segments;

use crate::connections::Connections;
use crate::revival::Revival;

/// Bytes of a frame beside a packet of the plain lane: its header, the fields of the chunk and the record, and an
/// acknowledgement of usual size.
const AROUND: usize = 48;
/// Most bytes of snoop's state for a connection, beside its segments.
const FLOW: usize = 4 << 10;
/// Most connections that it tracks at a time.
const FLOWS_MAX: usize = 1_024;
const IPV4_AND_TCP: usize = 40;
const IPV6_AND_TCP: usize = 60;

/// Method to repair the losses of TCP on the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TcpMethod {
    /// Repair by the link layer: in order, and TCP sees no loss.
    #[default]
    Arq,
    /// Repair by the snoop agent of the gateway, from its cache (Balakrishnan et al., 1995 and 1997).
    Snoop,
    /// Repair by TCP itself, end to end.
    Plain,
}

impl TcpMethod {
    /// Returns its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arq => "arq",
            Self::Snoop => "snoop",
            Self::Plain => "plain",
        }
    }
}

/// Configuration of the TCP of one association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpConfig {
    /// Method that both ends agreed on.
    pub method: TcpMethod,
    /// True if this end is the gateway, where the agent runs.
    pub at_gateway: bool,
    /// Limit on snoop's cache at this end.
    pub cache: Bytes,
}

/// Method of TCP, and the counters of snoop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpStatus {
    /// Method of its repair.
    pub method: TcpMethod,
    /// Bytes in snoop's cache at this end.
    pub cached: Bytes,
    /// Counters of the agent, at the gateway.
    pub agent: Option<snoop::Counters>,
    /// Counters of its counterpart, at the mobile host.
    pub mobile: Option<snoop::MobileCounters>,
}

impl TcpStatus {
    pub(crate) fn of(method: TcpMethod) -> Self {
        Self {
            method,
            cached: Bytes::ZERO,
            agent: None,
            mobile: None,
        }
    }
}

/// Inputs of a [`TcpLane`].
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// This end's stack, or the wired side, sends a TCP packet.
    Outgoing(Packet),
    /// A packet has crossed the hop.
    Incoming(Packet),
}

/// Outputs of a [`TcpLane`].
#[derive(Debug)]
pub(crate) enum Output {
    /// A packet to send across the hop in the plain lane, in this order.
    Cross { packet: Packet, order: QueueOrder },
    /// A packet to pass on.
    Release(Packet),
}

/// The TCP of one association, where the link layer does not repair it.
#[derive(Debug)]
pub(crate) struct TcpLane {
    method: TcpMethod,
    at_gateway: bool,
    watch: SnoopSide,
    /// Length of the longest packet that is never split, in bytes.
    packet: usize,
    /// Limit on the cache.
    cache: Bytes,
    pub(crate) connections: Connections,
    /// Acknowledgements that are repeated after the other end has lost its state.
    revival: Option<Revival>,
    /// True if senders are held while the hop is silent.
    holds: bool,
    outputs: VecDeque<Output>,
}

/// Observer of TCP packets.
#[derive(Debug)]
enum SnoopSide {
    Nobody,
    Agent(Box<Agent<Packet>>),
    Mobile(Box<Mobile<Packet>>),
}

impl TcpLane {
    /// Returns a lane over frames of `frame` bytes.
    pub(crate) fn new(config: &TcpConfig, frame: usize) -> Self {
        let live = snoop::Config::live();
        let limits = limits(config.cache, &live.limits);
        let watch = match (config.method, config.at_gateway) {
            (TcpMethod::Snoop, true) => {
                SnoopSide::Agent(Box::new(Agent::new(snoop::Config { limits, ..live })))
            }
            (TcpMethod::Snoop, false) => SnoopSide::Mobile(Box::new(Mobile::new(MobileConfig {
                limits,
                ..MobileConfig::default()
            }))),
            (TcpMethod::Arq | TcpMethod::Plain, _) => SnoopSide::Nobody,
        };
        Self {
            method: config.method,
            at_gateway: config.at_gateway,
            watch,
            packet: frame.saturating_sub(AROUND),
            cache: config.cache,
            connections: Connections::default(),
            revival: None,
            holds: false,
            outputs: VecDeque::new(),
        }
    }

    /// Takes over the connections of another lane.
    pub(crate) fn inherit(&mut self, former: &mut Self) {
        self.connections = std::mem::take(&mut former.connections);
    }

    /// Returns the lane, which holds senders from now on, except where TCP repairs itself.
    pub(crate) fn holding(self) -> Self {
        let holds = self.method != TcpMethod::Plain;
        Self { holds, ..self }
    }

    /// Returns true if senders are held while the hop is silent.
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }

    /// Records a TCP packet of this end, whatever repairs it.
    pub(crate) fn sent(&mut self, now: Instant, key: FlowKey, packet: &Packet) {
        if !self.at_gateway {
            self.connections.sent(now, key, packet);
        }
    }

    /// Records a TCP packet that leaves this end of the hop, for the flow `key` of its answers.
    pub(crate) fn received(&mut self, now: Instant, key: FlowKey, packet: &Packet) {
        if let Some(revival) = &mut self.revival {
            revival.received(&key);
        }
        if self.holds {
            self.connections.received(now, key, packet);
        }
    }

    /// Returns true if TCP packets that leave this end of the hop are recorded.
    pub(crate) fn wants_received(&self) -> bool {
        self.holds || self.revival.is_some()
    }

    /// Repeats the acknowledgements of these flows, which were sent now, until the other end sends something. Does
    /// nothing where the link layer repairs TCP.
    pub(crate) fn revive(&mut self, now: Instant, flows: Vec<FlowKey>) {
        let revival = self
            .is_used()
            .then(|| Revival::new(now, flows.into_iter().collect()));
        self.revival = revival.filter(|revival| !revival.is_over());
    }

    fn repeat_acknowledgments(&mut self, now: Instant) {
        let Some(revival) = &mut self.revival else {
            return;
        };
        let flows = revival.repeat(now);
        if revival.is_over() {
            self.revival = None;
        }
        for key in flows {
            if let Some(packet) = self.connections.acknowledgment(&key) {
                self.send_segment(now, packet);
            }
        }
    }

    /// Returns true if snoop has the segment in `packet`, and keeps its connection.
    pub(crate) fn keeps(&mut self, now: Instant, packet: &Packet) -> bool {
        match &mut self.watch {
            SnoopSide::Nobody => false,
            SnoopSide::Agent(agent) => agent.keeps(now, packet),
            SnoopSide::Mobile(mobile) => mobile.keeps(now, packet),
        }
    }

    /// Sends what snoop has of a connection again; `key` is its flow from this end.
    pub(crate) fn resume(&mut self, now: Instant, key: &FlowKey) {
        let own = (key.source, key.source_port).into();
        let theirs = (key.destination, key.destination_port).into();
        match &mut self.watch {
            SnoopSide::Nobody => {}
            SnoopSide::Agent(agent) => agent.resume(now, theirs, own),
            SnoopSide::Mobile(mobile) => mobile.resume(now, own, theirs),
        }
        self.drain();
    }

    /// Has snoop find out what was lost on the former path.
    pub(crate) fn path_changed(&mut self, now: Instant) {
        if let SnoopSide::Agent(agent) = &mut self.watch {
            agent.path_changed(now);
            self.drain();
        }
    }

    /// Sets the length of frames. Longer segments that connections agreed on before cross in two parts.
    pub(crate) fn fit(&mut self, frame: usize) {
        self.packet = frame.saturating_sub(AROUND);
    }

    /// Returns the method of repair.
    pub(crate) fn method(&self) -> TcpMethod {
        self.method
    }

    /// Returns true if TCP uses this lane at all.
    pub(crate) fn is_used(&self) -> bool {
        self.method != TcpMethod::Arq
    }

    /// Returns true if packets that have crossed the hop must pass here.
    pub(crate) fn watches(&self) -> bool {
        !matches!(self.watch, SnoopSide::Nobody)
    }

    /// Returns the bytes of memory held, and their limit.
    pub(crate) fn memory(&self) -> (Bytes, Bytes) {
        let (cached, flows) = match &self.watch {
            SnoopSide::Nobody => return (Bytes::ZERO, Bytes::ZERO),
            SnoopSide::Agent(agent) => (agent.cached_bytes(), agent.flows()),
            SnoopSide::Mobile(mobile) => (mobile.cached_bytes(), mobile.flows()),
        };
        let kept = Bytes::new(cached) + Bytes::from(flows * FLOW);
        (kept, memory_of(self.cache))
    }

    pub(crate) fn status(&self) -> TcpStatus {
        let mut status = TcpStatus::of(self.method);
        match &self.watch {
            SnoopSide::Nobody => {}
            SnoopSide::Agent(agent) => {
                status.cached = Bytes::new(agent.cached_bytes());
                status.agent = Some(agent.counters());
            }
            SnoopSide::Mobile(mobile) => {
                status.cached = Bytes::new(mobile.cached_bytes());
                status.mobile = Some(mobile.counters());
            }
        }
        status
    }

    /// Sends a packet; one that stands for several segments is split, so that each is lost, and repaired, alone.
    fn send(&mut self, now: Instant, mut packet: Packet) {
        self.clamp(&mut packet);
        if packet.segment_size == 0 {
            return self.send_segment(now, packet);
        }
        let cut = |ip| Segments::of(&ip, packet.segment_size).ok();
        let Some(segments) = packet.ip().and_then(cut) else {
            return self.send_segment(now, packet);
        };
        for index in 0..segments.count() {
            self.send_segment(now, segments.packet(index));
        }
    }

    /// Makes both ends of a connection agree on segments that fit in one frame: a segment in two frames is lost with
    /// either.
    fn clamp(&self, packet: &mut Packet) {
        let headers = match packet.ip().map(|ip| ip.version()) {
            Some(Version::V4) => IPV4_AND_TCP,
            _ => IPV6_AND_TCP,
        };
        let limit = u16::try_from(self.packet.saturating_sub(headers)).unwrap_or(u16::MAX);
        // A packet that cannot be read stays as it is.
        let _ = packet.clamp_maximum_segment_size(limit);
    }

    fn send_segment(&mut self, now: Instant, packet: Packet) {
        match &mut self.watch {
            SnoopSide::Nobody => self.outputs.push_back(Output::Cross {
                packet,
                order: QueueOrder::Last,
            }),
            SnoopSide::Agent(agent) => agent.handle_input(now, snoop::Input::FromFixed(packet)),
            SnoopSide::Mobile(mobile) => {
                mobile.handle_input(now, snoop::MobileInput::FromHost(packet));
            }
        }
        self.drain();
    }

    fn receive(&mut self, now: Instant, packet: Packet) {
        match &mut self.watch {
            SnoopSide::Nobody => self.outputs.push_back(Output::Release(packet)),
            SnoopSide::Agent(agent) => agent.handle_input(now, snoop::Input::FromMobile(packet)),
            SnoopSide::Mobile(mobile) => {
                mobile.handle_input(now, snoop::MobileInput::FromAir(packet));
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        let outputs = &mut self.outputs;
        match &mut self.watch {
            SnoopSide::Nobody => {}
            SnoopSide::Agent(agent) => {
                while let Some(output) = agent.poll_output() {
                    outputs.push_back(match output {
                        snoop::Output::ToMobile { packet, priority } => Output::Cross {
                            packet,
                            order: order(priority),
                        },
                        snoop::Output::ToFixed(packet) => Output::Release(packet),
                    });
                }
            }
            SnoopSide::Mobile(mobile) => {
                while let Some(output) = mobile.poll_output() {
                    outputs.push_back(match output {
                        snoop::MobileOutput::ToAir { packet, priority } => Output::Cross {
                            packet,
                            order: order(priority),
                        },
                        snoop::MobileOutput::ToHost(packet) => Output::Release(packet),
                    });
                }
            }
        }
    }
}

impl Machine for TcpLane {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Outgoing(packet) => self.send(now, packet),
            Input::Incoming(packet) => self.receive(now, packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.repeat_acknowledgments(now);
        match &mut self.watch {
            SnoopSide::Nobody => {}
            SnoopSide::Agent(agent) => agent.handle_timeout(now),
            SnoopSide::Mobile(mobile) => mobile.handle_timeout(now),
        }
        self.drain();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let watch = match &self.watch {
            SnoopSide::Nobody => None,
            SnoopSide::Agent(agent) => agent.poll_timeout(),
            SnoopSide::Mobile(mobile) => mobile.poll_timeout(),
        };
        machine::earlier(watch, self.revival.as_ref().map(Revival::due))
    }
}

/// Returns the limit on the memory of snoop with a cache of `cache` bytes.
fn memory_of(cache: Bytes) -> Bytes {
    cache + Bytes::from(FLOWS_MAX * FLOW)
}

impl TcpMethod {
    /// Returns the limit on the memory that it takes beside packets on their way; snoop's cache has `cache` bytes.
    pub fn memory_most(self, cache: Bytes) -> Bytes {
        match self {
            Self::Snoop => memory_of(cache),
            Self::Arq | Self::Plain => Bytes::ZERO,
        }
    }
}

/// Returns the limits of snoop for a cache of `cache` bytes: one connection gets half of it, of which the last
/// quarter is for gaps.
fn limits(cache: Bytes, live: &Limits) -> Limits {
    let flow = cache.get() / 2;
    Limits {
        flow_bytes: Bytes::new(flow),
        high_water: Bytes::new(flow - flow / 4),
        bytes: cache,
        flows: FLOWS_MAX,
        ..live.clone()
    }
}

/// Returns the place of a packet of snoop in the queue.
fn order(priority: bool) -> QueueOrder {
    if priority {
        QueueOrder::First
    } else {
        QueueOrder::Sequence
    }
}
