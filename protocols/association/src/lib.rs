//! One mobile host and one gateway: queues, repair and the air between them.
//!
//! An [`Association`] outlives the keys and addresses of its frames. It joins an [`Arq`] with the [`Air`] that it
//! sends on, classifies packets into flows, and grants the air by its own deadline, as needed for a bearer that does
//! not grant itself. TCP crosses with the link layer's repair or, by [`TcpMethod`], without it; TCP that is split
//! crosses as streams of MTCP ([`StreamConfig`]).

mod connections;
mod flows;
mod holding;
mod lane;
mod marks;
mod meters;
mod recent;
mod revival;
mod sending;
mod status;
mod streams;
mod suspension;
mod tcp;
mod vocabulary;
mod withdraw;

use std::collections::VecDeque;

use air::{Air, Grant};
use arq::{Arq, COMMON_FLOW, Config};
pub use arq::{LinkEvent, PathNews, Report};
pub use connections::Reached;
pub use flows::FlowLimits;
use flows::{KnownFlows, Side};
use lane::Stalls;
use machine::{ConfigError, Machine};
use marks::HeldReplies;
pub use meters::RecentTraffic;
use recent::Recent;
pub use recent::RecentCounters;
use redirector::Chunks;
pub use status::Status;
use streams::Streams;
pub use streams::{StreamConfig, StreamStatus};
pub use suspension::SuspendedStreams;
use tcp::TcpLane;
pub use tcp::{TcpConfig, TcpMethod, TcpStatus};
use units::{BitRate, Bytes, Duration, Instant, Probability};
pub use vocabulary::{Profile, Reason, StreamAddresses, StreamId, StreamNews, StreamRequest};
use wire::flow::{Class, FlowKey};
use wire::ip::{Ecn, Protocol};
use wire::packet::{Packet, PacketBuffer};

/// Inputs of an [`Association`].
#[derive(Debug, Clone)]
pub enum Input {
    /// A packet to send across the hop.
    Packet(Packet),
    /// A frame arrived from the other end, whole and authentic.
    Frame {
        /// Time of its arrival.
        arrived: Instant,
        /// The frame.
        frame: PacketBuffer,
        /// ECN field of the outer header.
        ecn: Ecn,
    },
    /// A request for its streams. Without streams it counts as malformed.
    Streams(StreamRequest<Chunks>),
    /// True if frames can be sent at all, as at the start; without a link everything waits.
    Link(bool),
    /// Shared air only: this association may send on it now.
    AirFree(Grant),
    /// Shared air only: one frame may be sent that carries only an acknowledgement.
    AcknowledgementFree,
    /// Shared air only: others have used it for this many bytes.
    Elsewhere(Bytes),
    /// News of the path that frames take.
    Path(PathNews),
    /// The part of [`Config::memory`] that may be used from now on. What is held already stays.
    Memory(Bytes),
}

/// Outputs of an [`Association`], for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A packet has crossed the hop.
    Packet(Packet),
    /// News of its streams.
    Streams(StreamNews<Chunks>),
    /// A frame to seal and send.
    Frame {
        /// The frame.
        frame: PacketBuffer,
        /// ECN field that the outer header must have.
        ecn: Ecn,
    },
    /// An event on the link.
    Event(LinkEvent),
    /// No recent transmission is acknowledged: a fade has begun, or goes on.
    Silence,
}

/// One end of the association of a mobile host and a gateway.
#[derive(Debug)]
pub struct Association {
    arq: Arq,
    air: Air,
    link: Link,
    /// Most bytes of memory, snoop's cache aside.
    memory: Bytes,
    outputs: VecDeque<Output>,
    malformed: u64,
    tcp: TcpLane,
    /// The streams, if TCP is split and crosses as MTCP.
    streams: Option<Streams>,
    stalls: Stalls,
    marks: HeldReplies,
    flows: KnownFlows,
    recent: Recent,
}

/// State of the link.
#[derive(Debug)]
struct Link {
    /// True if frames can be sent.
    is_up: bool,
    /// Bytes that each frame costs on the wire beyond its own.
    overhead: usize,
    /// The same on the path on which it costs most.
    overhead_most: usize,
    /// The rate that was last reported to the link repair, and true if it was more than the least one.
    reported_rate: (BitRate, bool),
}

impl Association {
    /// Returns one end, idle; the rate of the hop is `rate`, or measured if `None`.
    pub fn new(config: Config, rate: Option<BitRate>, tcp: &TcpConfig) -> Self {
        Self {
            tcp: TcpLane::new(tcp, config.frame),
            link: Link {
                is_up: true,
                overhead: config.overhead,
                overhead_most: config.overhead,
                reported_rate: (BitRate::ZERO, false),
            },
            memory: config.memory.max(arq::MEMORY_LEAST),
            arq: Arq::new(config),
            air: Air::new(rate),
            outputs: VecDeque::new(),
            malformed: 0,
            streams: None,
            stalls: Stalls::default(),
            marks: HeldReplies::default(),
            flows: KnownFlows::new(None),
            recent: Recent::default(),
        }
    }

    /// Returns the association on an air that it shares with others: it sends when its turn comes.
    #[must_use]
    pub fn on_shared_air(self) -> Self {
        Self {
            air: self.air.in_turns(),
            ..self
        }
    }

    /// Returns the association with limits on the flows that each side may begin: packets from the other end that
    /// would begin more are dropped; those to there share one flow.
    #[must_use]
    pub fn with_flow_limits(self, limits: FlowLimits) -> Self {
        Self {
            flows: KnownFlows::new(Some(limits)),
            ..self
        }
    }

    /// Returns the association with streams.
    ///
    /// # Errors
    /// [`ConfigError`] if `config` is not valid.
    pub fn with_streams(self, config: StreamConfig) -> Result<Self, ConfigError> {
        let packet = self.arq.transport_packet_max();
        let streams = Streams::new(config, packet.saturating_sub(self.link.more()))?;
        Ok(Self {
            streams: Some(streams),
            ..self
        })
    }

    /// Takes over from another association, which it succeeds, the known flows, so that the peer cannot begin more of
    /// them by a restart, and the connections of a mobile host.
    pub fn inherit(&mut self, former: &mut Self) {
        self.flows = std::mem::replace(&mut former.flows, KnownFlows::new(None));
        self.tcp.inherit(&mut former.tcp);
    }

    /// Returns the bytes of memory held for the other end, and their limit, with that of snoop and of streams.
    pub fn memory(&self) -> (Bytes, Bytes) {
        let (cached, cache) = self.tcp.memory();
        let tables = self.marks.memory() + self.flows.memory() + self.air.memory();
        let tables = tables + self.tcp.connections.memory();
        let streams = self.streams.as_ref().map(Streams::memory);
        let (streamed, streams) = streams.unwrap_or_default();
        (
            self.arq.memory() + tables + cached + streamed,
            self.memory + cache + streams,
        )
    }

    /// Returns the part of [`Config::memory`] that it wants, to take in packets of `more` bytes; see
    /// [`Input::Memory`].
    pub fn memory_wanted(&self, more: usize) -> Bytes {
        let flows = self.flows.memory_wanted() * 2;
        self.arq.memory_wanted(more).max(flows).min(self.memory)
    }

    /// Returns the bytes of a frame on the wire.
    pub fn on_wire(&self, frame: &PacketBuffer) -> Bytes {
        Bytes::from(frame.len() + self.link.overhead)
    }

    /// Returns its air.
    pub fn air(&self) -> &Air {
        &self.air
    }

    /// Returns the method for TCP that is not split into streams.
    pub fn tcp_method(&self) -> TcpMethod {
        self.tcp.method()
    }

    /// Returns the measurements of the hop: its smallest recent round-trip time, and the share of frames that it
    /// loses.
    pub fn measured(&self) -> (Option<Duration>, Option<Probability>) {
        (self.arq.measured_round_trip(), self.arq.loss())
    }

    /// Returns true while nothing comes through.
    pub fn is_in_fade(&self) -> bool {
        self.fade_since().is_some()
    }

    /// Returns the time since which nothing has come through, in a fade.
    pub fn fade_since(&self) -> Option<Instant> {
        self.arq.fade_since()
    }

    /// Returns the bytes of packets that wait for their first transmission.
    pub fn queued(&self) -> Bytes {
        self.arq.queued()
    }

    /// Returns true if a grant would be used now, for those packets or for repairs.
    pub fn wants_grant(&self, now: Instant) -> bool {
        self.link.is_up && self.arq.has_content(now)
    }

    /// Returns the time when an acknowledgement is due.
    pub fn acknowledges_from(&self) -> Option<Instant> {
        self.arq.acknowledges_from().filter(|_| self.link.is_up)
    }

    /// Returns the time from which [`wants_grant`](Self::wants_grant) is true, which may be past.
    pub fn grant_wanted_from(&self) -> Option<Instant> {
        self.arq.content_from().filter(|_| self.link.is_up)
    }

    /// Releases only a few packets in the current turn, if the peer's packets are limited.
    pub fn shorten_turn(&mut self, now: Instant) {
        self.arq.shorten_turn(now);
    }

    /// Returns the state of the hop, as this end sees it.
    pub fn status(&self, now: Instant) -> Status {
        let (memory, memory_most) = self.memory();
        let measured = self.air.measured().map(|measured| measured.rate);
        let rate = self.air.known_rate().or(measured);
        Status {
            packets_malformed: self.malformed,
            packets_of_refused_flows: self.flows.refused(),
            tcp: self.tcp.status(),
            streams: self.streams.as_ref().map(Streams::status),
            memory,
            memory_most,
            ..Status::of(now, &self.arq, &self.air, rate)
        }
    }

    fn packet(&mut self, now: Instant, mut packet: Packet) {
        let Some(ip) = packet.ip() else {
            self.malformed += 1;
            return;
        };
        let (mut key, mut class) = (FlowKey::of(&ip), Class::of(&ip));
        let is_held_tcp = class == Class::Held && key.protocol == Protocol::TCP;
        // A TCP header can only be elided if its checksum is known to be good.
        if is_held_tcp {
            packet.verify_checksum();
        }
        if key.protocol == Protocol::TCP {
            self.tcp.sent(now, key, &packet);
        }
        if key.protocol == Protocol::UDP {
            if class == Class::Held {
                self.marks.saw(now, key);
            } else if self.marks.answers(now, &key) {
                class = Class::Held;
            }
        }
        let begun = self.flows.admits(now, Side::Here, key);
        if begun.is_none() {
            key = COMMON_FLOW;
        }
        if is_held_tcp && self.hold(now, key, &packet) {
            return;
        }
        if is_held_tcp && self.tcp.is_used() {
            if self.arq.admit(now, &mut packet, &key) {
                self.tcp.handle_input(now, tcp::Input::Outgoing(packet));
            }
        } else {
            self.arq
                .handle_input(now, arq::Input::Packet { packet, key, class });
            self.seat(now, key, begun);
        }
    }

    /// Gives a flow of the link repair its place, by the side that began it.
    fn seat(&mut self, now: Instant, key: FlowKey, begun: Option<Side>) {
        if begun != Some(Side::Peer) {
            self.arq.handle_input(now, arq::Input::Guest(key));
        }
    }

    /// A packet has crossed the hop.
    fn arrived(&mut self, now: Instant, packet: Packet) {
        if let Some(ip) = packet.ip() {
            let is_limited = self.flows.are_limited();
            if is_limited
                && self
                    .flows
                    .admits(now, Side::Peer, FlowKey::of(&ip))
                    .is_none()
            {
                return;
            }
            match ip.protocol() {
                _ if Class::of(&ip) != Class::Held => {}
                Protocol::UDP => self.marks.saw(now, FlowKey::of(&ip)),
                _ if self.tcp.watches() => {
                    self.tcp.handle_input(now, tcp::Input::Incoming(packet));
                    return self.carry_tcp(now);
                }
                _ => {}
            }
        }
        self.release(now, packet);
    }

    /// Carries out the outputs of the TCP lane.
    fn carry_tcp(&mut self, now: Instant) {
        while let Some(output) = self.tcp.poll_output() {
            match output {
                tcp::Output::Cross { packet, order } => {
                    // The lane passes on only packets that could be read before.
                    let Some(ip) = packet.ip() else { continue };
                    let key = FlowKey::of(&ip);
                    let begun = self.flows.side_of(&key);
                    let key = begun.map_or(COMMON_FLOW, |_| key);
                    self.arq
                        .handle_input(now, arq::Input::Plain { packet, key, order });
                    self.seat(now, key, begun);
                }
                tcp::Output::Release(packet) => self.release(now, packet),
            }
        }
    }

    /// Grants the air as long as it is free and wanted, and passes on the outputs of the link repair.
    fn pump(&mut self, now: Instant) {
        self.drain(now);
        while self.link.is_up {
            let Some(grant) = self.next_grant(now) else {
                break;
            };
            self.arq.handle_input(now, grant);
            if self.drain(now) == 0 {
                break;
            }
            self.air.end_turn();
        }
        self.air.end_turn();
        self.let_go(now);
        if self.link.is_up && !self.arq.has_content(now) {
            self.air.idle();
        }
        self.tell_rate(now);
    }

    /// Passes on outputs; returns the number of frames among them.
    fn drain(&mut self, now: Instant) -> usize {
        let mut frames = 0;
        self.fit_segments();
        self.carry_tcp(now);
        while let Some(output) = self.arq.poll_output() {
            match output {
                arq::Output::Frame { frame, ecn } => {
                    frames += 1;
                    self.air.set_outstanding(self.arq.outstanding());
                    self.air.spent(now, self.on_wire(&frame));
                    self.outputs.push_back(Output::Frame { frame, ecn });
                }
                arq::Output::Packet(packet) => self.arrived(now, packet),
                arq::Output::Transport(number, packet) => {
                    self.tell_streams(now, streams::Input::Arrived(number, packet));
                }
                arq::Output::Event(event) => self.outputs.push_back(Output::Event(event)),
                arq::Output::Sample(sample) => self.air.learn(now, &sample),
                arq::Output::Silence => self.outputs.push_back(Output::Silence),
            }
        }
        self.carry_streams(now);
        frames
    }
}

impl Machine for Association {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        self.notice_stall(now);
        match input {
            Input::Packet(packet) => self.packet(now, packet),
            Input::Frame {
                arrived,
                frame,
                ecn,
            } => {
                let frame = arq::Input::Frame {
                    arrived,
                    frame,
                    ecn,
                };
                self.arq.handle_input(now, frame);
            }
            Input::Streams(input) => self.tell_streams(now, streams::Input::Asked(input)),
            Input::Link(linked) => self.link(now, linked),
            Input::AirFree(grant) => self.air.begin_turn(now, grant),
            Input::AcknowledgementFree => self.air.begin_acknowledgement(),
            Input::Elsewhere(bytes) => self.arq.handle_input(now, arq::Input::Elsewhere(bytes)),
            Input::Path(news) => self.path_news(now, news),
            Input::Memory(bytes) => {
                self.flows.set_memory(bytes);
                self.tcp.connections.set_memory(bytes);
                self.arq.handle_input(now, arq::Input::Memory(bytes));
            }
        }
        self.pump(now);
        self.note_moment(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.notice_stall(now);
        self.arq.handle_timeout(now);
        self.tcp.handle_timeout(now);
        if let Some(streams) = &mut self.streams
            && let Some(due) = streams.poll_timeout()
            && self.stalls.patience.after(due) <= now
            && !self.stalls.patience.is_needed(now, due)
        {
            streams.handle_timeout(now);
        }
        self.pump(now);
        self.note_moment(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let open = |(wanted, opens_at): (Instant, Instant)| wanted.max(opens_at);
        let content = self.arq.content_from().zip(self.air.opens_at()).map(open);
        let acknowledges = self.arq.acknowledges_from();
        let acknowledges = acknowledges.zip(self.air.free_at()).map(open);
        let grant = machine::earlier(content, acknowledges).filter(|_| self.link.is_up);
        let streams = self.streams.as_ref().and_then(Streams::poll_timeout);
        let streams = streams.map(|due| self.stalls.patience.after(due));
        let own = machine::earlier(self.arq.poll_timeout(), self.tcp.poll_timeout());
        let own = machine::earlier(own, streams);
        machine::earlier(own, grant)
    }
}
