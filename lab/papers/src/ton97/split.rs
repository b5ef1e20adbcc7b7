//! A connection that is split at the base station.

use std::net::IpAddr;

use machine::{Machine, earlier};
use redirector::Count;
use split::{
    End as HopEnd, Input, Mobile, Output, Refusal, Scope, Side, SocketEvent, SocketId,
    SocketRequest, Splitter, SystemEvent, SystemRequest,
};
use tcp::Endpoint;
use units::Instant;
use wire::TcpSegment;
use wire::flow::Ends;

use super::end::{Counts, End, EndOutput};
use super::packet::Packet;

/// Two joined ends: TCP towards the wire, and TCP or MTCP towards the hop.
#[derive(Debug)]
pub(crate) struct Split {
    /// End that the fixed host sees in place of the mobile host.
    wired: Endpoint,
    /// End that the mobile host sees in place of the fixed host.
    hop: End,
    splitter: Splitter<Count>,
    /// Socket identifiers of both ends, once the splitter has assigned them.
    names: [Option<SocketId>; 2],
    now: Instant,
}

/// An output of the base station.
#[derive(Debug)]
pub(crate) enum Leaves {
    ToFixed(TcpSegment),
    ToMobile(Packet),
    /// A connection broke.
    Broken,
}

impl Split {
    /// Creates a split: `wired` waits for a connection, and `hop` then continues it.
    pub(crate) fn new(wired: Endpoint, hop: impl Into<End>, config: &redirector::Config) -> Self {
        let mobile = wired.connection().local.ip();
        let splitter = Splitter::new(split::Config {
            end: HopEnd::Gateway { transparent: true },
            mobiles: vec![Mobile {
                peer: 0,
                networks: vec![IpAddr::from(*mobile).into()],
                scope: Scope::Every,
            }],
            buffer: config.buffer,
            connections: config.bindings,
            idle: config.idle,
            accepts_at_once: true,
            secret: 0,
        });
        Self {
            wired,
            hop: hop.into(),
            splitter,
            names: [None; 2],
            now: Instant::ZERO,
        }
    }

    /// Returns the end of the connection across the hop.
    pub(crate) fn hop(&self) -> &End {
        &self.hop
    }

    /// Returns the counters of the end towards the wire.
    pub(crate) fn wired(&self) -> Counts {
        Counts::of_tcp(&self.wired)
    }

    /// Takes a packet from either side.
    pub(crate) fn packet(&mut self, now: Instant, packet: Packet) {
        self.now = now;
        match packet {
            Packet::Segment { segment, .. } if segment.source == self.wired.connection().remote => {
                self.tell_end(Side::Fixed, tcp::Input::Segment(segment));
            }
            Packet::Segment { segment, .. } => self.hop.segment(now, segment),
            Packet::Mtcp(packet) => self.hop.packet(now, packet),
            Packet::Frame(_) => {}
        }
    }

    fn tell_end(&mut self, side: Side, input: tcp::Input) {
        match side {
            Side::Fixed => self.wired.handle_input(self.now, input),
            Side::Mobile => self.hop.handle_input(self.now, input),
        }
    }

    fn happen(&mut self, event: SystemEvent<Count>) {
        self.splitter.handle_input(self.now, Input::System(event));
    }

    /// Passes an event of an end to the splitter.
    fn report(&mut self, side: Side, event: SocketEvent<Count>) {
        if let Some(id) = self.names[side as usize] {
            self.happen(SystemEvent::Socket(id, event));
        }
    }

    /// Takes an output of an end.
    fn take_event(&mut self, side: Side, output: tcp::Output) -> Option<Leaves> {
        match output {
            tcp::Output::Segment(segment) => {
                return Some(match side {
                    Side::Fixed => Leaves::ToFixed(segment),
                    Side::Mobile => Leaves::ToMobile(segment.into()),
                });
            }
            tcp::Output::Connected if side == Side::Fixed => {
                let connection = self.wired.connection();
                self.happen(SystemEvent::Accepted(Ends {
                    source: connection.remote.into(),
                    destination: connection.local.into(),
                }));
            }
            tcp::Output::Connected => self.report(side, SocketEvent::Connected),
            tcp::Output::Readable(count) => self.report(side, SocketEvent::Readable(count)),
            tcp::Output::Writable(room) => self.report(side, SocketEvent::Writable(room)),
            tcp::Output::Finished => self.report(side, SocketEvent::Finished),
            tcp::Output::Reset => {
                self.report(side, SocketEvent::Failed(Refusal::Refused));
                return Some(Leaves::Broken);
            }
        }
        None
    }

    /// Carries out an output of the splitter.
    fn obey(&mut self, output: Output<Count>) {
        match output {
            Output::System(SystemRequest::Adopt(_, id)) => self.names[id.side as usize] = Some(id),
            Output::System(SystemRequest::Socket(id, request)) => self.ask_end(id, &request),
            // One connection, which is accepted at once, needs no other outputs.
            Output::System(_) | Output::ToHost(_) | Output::ToHop(_) | Output::Stream { .. } => {}
        }
    }

    fn ask_end(&mut self, id: SocketId, request: &SocketRequest<Count>) {
        let side = id.side;
        match *request {
            SocketRequest::Connect(_) => {
                self.names[side as usize] = Some(id);
                self.tell_end(side, tcp::Input::Connect);
            }
            SocketRequest::Read(count) => {
                self.tell_end(side, tcp::Input::Read(count));
                self.report(side, SocketEvent::Data(Count(count)));
            }
            SocketRequest::Write(content) => self.tell_end(side, tcp::Input::Write(content.0)),
            SocketRequest::Finish => {
                self.tell_end(side, tcp::Input::Close);
                self.report(side, SocketEvent::Flushed);
            }
            SocketRequest::Reset => self.tell_end(side, tcp::Input::Abort),
            SocketRequest::Release => {}
        }
    }

    /// See [`Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.wired.handle_timeout(now);
        self.hop.handle_timeout(now);
        self.splitter.handle_timeout(now);
    }

    /// See [`Machine::poll_output`].
    pub(crate) fn poll_output(&mut self) -> Option<Leaves> {
        loop {
            if let Some(output) = self.splitter.poll_output() {
                self.obey(output);
                continue;
            }
            let (side, output) = if let Some(output) = self.wired.poll_output() {
                (Side::Fixed, output)
            } else {
                match self.hop.poll_output()? {
                    EndOutput::Mtcp(packet) => return Some(Leaves::ToMobile(Packet::Mtcp(packet))),
                    EndOutput::Tcp(output) => (Side::Mobile, output),
                }
            };
            if let Some(leaves) = self.take_event(side, output) {
                return Some(leaves);
            }
        }
    }

    /// See [`Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let ends = earlier(self.wired.poll_timeout(), self.hop.poll_timeout());
        earlier(ends, self.splitter.poll_timeout())
    }
}
