//! A connection that ends at the base station and goes on as another.

use machine::{Machine, earlier};
use redirector::{BindingId, Count, Redirector, Side, Stream};
use tcp::Endpoint;
use units::Instant;
use wire::TcpSegment;

use super::end::{Counts, End, Said};
use super::packet::Packet;

/// The one binding of a run.
const BINDING: BindingId = BindingId(0);

/// Two ends, joined: TCP's across the wire, and TCP's or MTCP's across the hop.
#[derive(Debug)]
pub(crate) struct Split {
    /// The end that the fixed host sees in place of the mobile host.
    wired: Endpoint,
    /// The end that the mobile host sees in place of the fixed host.
    hop: End,
    redirector: Redirector<Count>,
    now: Instant,
}

/// What leaves the base station.
#[derive(Debug)]
pub(crate) enum Leaves {
    ToFixed(TcpSegment),
    ToMobile(Packet),
    /// A connection broke.
    Broken,
}

impl Split {
    /// `wired` waits for a connection, which `hop` then continues.
    pub(crate) fn new(wired: Endpoint, hop: impl Into<End>, config: redirector::Config) -> Self {
        Self {
            wired,
            hop: hop.into(),
            redirector: Redirector::new(config),
            now: Instant::ZERO,
        }
    }

    /// The connection across the hop.
    pub(crate) fn hop(&self) -> &End {
        &self.hop
    }

    /// What the end towards the wire has done.
    pub(crate) fn wired(&self) -> Counts {
        Counts::of_tcp(&self.wired)
    }

    /// A packet arrives from either side.
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

    fn tell(&mut self, input: redirector::Input<Count>) {
        self.redirector.handle_input(self.now, input);
    }

    /// What an end has to say.
    fn take_event(&mut self, side: Side, output: tcp::Output) -> Option<Leaves> {
        let stream = Stream {
            binding: BINDING,
            side,
        };
        match output {
            tcp::Output::Segment(segment) => {
                return Some(match side {
                    Side::Fixed => Leaves::ToFixed(segment),
                    Side::Mobile => Leaves::ToMobile(segment.into()),
                });
            }
            tcp::Output::Connected if side == Side::Fixed => {
                let destination = self.wired.connection().local.into();
                self.tell(redirector::Input::Arrived {
                    stream,
                    destination,
                });
            }
            tcp::Output::Connected => {}
            tcp::Output::Readable(available) => {
                self.tell(redirector::Input::Readable { stream, available });
            }
            tcp::Output::Writable(room) => self.tell(redirector::Input::Writable { stream, room }),
            tcp::Output::Finished => self.tell(redirector::Input::Finished(stream)),
            tcp::Output::Reset => {
                self.tell(redirector::Input::Reset(stream));
                return Some(Leaves::Broken);
            }
        }
        None
    }

    /// What the redirector asks for.
    fn obey(&mut self, output: &redirector::Output<Count>) {
        match *output {
            redirector::Output::Connect { stream, .. } => {
                self.tell_end(stream.side, tcp::Input::Connect);
            }
            redirector::Output::Read { stream, count } => {
                self.tell_end(stream.side, tcp::Input::Read(count));
                let content = Count(count);
                self.tell(redirector::Input::Data { stream, content });
            }
            redirector::Output::Write { stream, content } => {
                self.tell_end(stream.side, tcp::Input::Write(content.0));
            }
            redirector::Output::Finish(stream) => self.tell_end(stream.side, tcp::Input::Close),
            redirector::Output::Reset(stream) => self.tell_end(stream.side, tcp::Input::Abort),
            redirector::Output::Closed(_) => {}
        }
    }

    /// See [`Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.wired.handle_timeout(now);
        self.hop.handle_timeout(now);
        self.redirector.handle_timeout(now);
    }

    /// See [`Machine::poll_output`].
    pub(crate) fn poll_output(&mut self) -> Option<Leaves> {
        loop {
            if let Some(output) = self.redirector.poll_output() {
                self.obey(&output);
                continue;
            }
            let (side, output) = if let Some(output) = self.wired.poll_output() {
                (Side::Fixed, output)
            } else {
                match self.hop.poll_output()? {
                    Said::Mtcp(packet) => return Some(Leaves::ToMobile(Packet::Mtcp(packet))),
                    Said::Tcp(output) => (Side::Mobile, output),
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
        earlier(ends, self.redirector.poll_timeout())
    }
}
