//! The mobile host: TCP or MTCP, its application, and a layer below TCP if the scheme needs one.

use machine::{Machine, earlier};
use simulator::{Input, Output};
use snoop::{MobileInput, MobileOutput};
use units::{Bytes, Instant};
use wire::TcpSegment;

use super::application::Application;
use super::end::{Counts, End, EndOutput};
use super::interface::{AIR, Event};
use super::packet::Packet;
use super::repair::{Repair, Repaired};

/// The layer below TCP.
#[derive(Debug)]
pub(crate) enum LinkLayer {
    /// The mobile end of our own link repair.
    Arq(Box<Repair>),
    /// The mobile end of the base station's agent, for data from this host.
    Snoop {
        agent: Box<snoop::Mobile<TcpSegment>>,
        /// True if its retransmissions overtake the packets that wait for the air.
        repairs_ahead: bool,
    },
}

/// The mobile host.
#[derive(Debug)]
pub(crate) struct Mobile {
    end: End,
    below: Option<LinkLayer>,
    application: Application,
    /// True if corrupted packets are reported to TCP.
    hears_losses: bool,
    /// Bytes of data handed to the air, every transmission counted.
    to_air: u64,
    now: Instant,
}

impl Mobile {
    /// Creates a host that waits for `transfer`.
    pub(crate) fn new(end: impl Into<End>, below: Option<LinkLayer>, transfer: Bytes) -> Self {
        Self::with(end, below, Application::new(0, transfer.get()))
    }

    /// Creates a host that waits for a connection.
    pub(crate) fn with(
        end: impl Into<End>,
        below: Option<LinkLayer>,
        application: Application,
    ) -> Self {
        Self {
            end: end.into(),
            below,
            application,
            hears_losses: true,
            to_air: 0,
            now: Instant::ZERO,
        }
    }

    /// Returns the same host, but without reports of corrupted packets to its TCP.
    pub(crate) fn unaware(self) -> Self {
        Self {
            hears_losses: false,
            ..self
        }
    }

    /// Returns the counters of its end of the connection.
    pub(crate) fn counts(&self) -> Counts {
        self.end.counts()
    }

    /// Returns the bytes of data handed to the air so far, every transmission counted.
    pub(crate) fn to_air(&self) -> u64 {
        self.to_air
    }

    /// Returns the number of retransmissions of its end of the agent, if it has one.
    pub(crate) fn repairs(&self) -> Option<u64> {
        match &self.below {
            Some(LinkLayer::Snoop { agent, .. }) => Some(agent.counters().repairs),
            Some(LinkLayer::Arq(_)) | None => None,
        }
    }

    fn segment(&mut self, segment: TcpSegment) {
        self.end.segment(self.now, segment);
    }

    /// Takes a packet from the hop.
    fn arrive(&mut self, packet: Packet) {
        match (&mut self.below, packet) {
            (Some(LinkLayer::Arq(repair)), Packet::Frame(frame)) => repair.frame(self.now, frame),
            (Some(LinkLayer::Snoop { agent, .. }), Packet::Segment { segment, .. }) => {
                agent.handle_input(self.now, MobileInput::FromAir(segment));
            }
            (_, Packet::Segment { segment, .. }) => self.segment(segment),
            (_, Packet::Mtcp(packet)) => self.end.packet(self.now, packet),
            (_, Packet::Frame(_)) => {}
        }
    }

    /// Sends a segment of TCP; returns the packet that leaves the host at once, if any.
    fn leave(&mut self, segment: TcpSegment) -> Option<Packet> {
        match &mut self.below {
            Some(LinkLayer::Arq(repair)) => repair.cross(self.now, &segment),
            Some(LinkLayer::Snoop { agent, .. }) => {
                agent.handle_input(self.now, MobileInput::FromHost(segment));
            }
            None => return Some(segment.into()),
        }
        None
    }

    /// Returns an output of the layer below TCP: a packet that leaves the host, or a segment for TCP.
    fn poll_below(&mut self) -> Option<Result<Packet, TcpSegment>> {
        Some(match self.below.as_mut()? {
            LinkLayer::Arq(repair) => match repair.poll_output()? {
                Repaired::Frame(frame) => Ok(Packet::Frame(frame)),
                Repaired::Segment(segment) => Err(segment),
            },
            LinkLayer::Snoop {
                agent,
                repairs_ahead,
            } => match agent.poll_output()? {
                MobileOutput::ToAir { packet, priority } => Ok(Packet::Segment {
                    segment: packet,
                    ahead: priority && *repairs_ahead,
                }),
                MobileOutput::ToHost(segment) => Err(segment),
            },
        })
    }

    fn send(&mut self, packet: Packet) -> Output<Packet, Event> {
        self.to_air += packet.data();
        Output::Send { port: AIR, packet }
    }
}

impl Machine for Mobile {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
        match input {
            Input::Packet { packet, .. } => self.arrive(packet),
            Input::Corrupted {
                packet: Packet::Segment { segment, .. },
                ..
            } if self.hears_losses => {
                let lost = tcp::Input::AirLoss(segment.payload_range());
                self.end.handle_input(now, lost);
            }
            Input::Corrupted { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.end.handle_timeout(now);
        match &mut self.below {
            Some(LinkLayer::Arq(repair)) => repair.handle_timeout(now),
            Some(LinkLayer::Snoop { agent, .. }) => agent.handle_timeout(now),
            None => {}
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        loop {
            match self.end.poll_output() {
                Some(EndOutput::Mtcp(packet)) => return Some(self.send(Packet::Mtcp(packet))),
                Some(EndOutput::Tcp(tcp::Output::Segment(segment))) => {
                    if let Some(packet) = self.leave(segment) {
                        return Some(self.send(packet));
                    }
                }
                Some(EndOutput::Tcp(output)) => {
                    let (now, end) = (self.now, &mut self.end);
                    let tell = |input| end.handle_input(now, input);
                    if let Some(event) = self.application.take(&output, tell) {
                        return Some(Output::Event(event));
                    }
                }
                None => match self.poll_below()? {
                    Ok(packet) => return Some(self.send(packet)),
                    Err(segment) => self.segment(segment),
                },
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let below = match self.below.as_ref() {
            Some(LinkLayer::Arq(repair)) => repair.poll_timeout(),
            Some(LinkLayer::Snoop { agent, .. }) => agent.poll_timeout(),
            None => None,
        };
        earlier(self.end.poll_timeout(), below)
    }
}
