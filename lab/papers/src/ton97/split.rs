//! A connection that ends at the base station and goes on as another.

use machine::{Machine, earlier};
use redirector::{BindingId, Count, Redirector, Side, Stream};
use tcp::Endpoint;
use units::Instant;
use wire::TcpSegment;

/// The one binding of a run.
const BINDING: BindingId = BindingId(0);

/// Two ends of TCP, joined.
#[derive(Debug)]
pub(crate) struct Split {
    /// The end that the fixed host sees in place of the mobile host.
    wired: Endpoint,
    /// The end that the mobile host sees in place of the fixed host.
    hop: Endpoint,
    redirector: Redirector<Count>,
    now: Instant,
}

/// What leaves the base station.
#[derive(Debug)]
pub(crate) enum Leaves {
    ToFixed(TcpSegment),
    ToMobile(TcpSegment),
    /// A connection broke.
    Broken,
}

impl Split {
    /// `wired` waits for a connection, which `hop` then continues.
    pub(crate) fn new(wired: Endpoint, hop: Endpoint, config: redirector::Config) -> Self {
        Self {
            wired,
            hop,
            redirector: Redirector::new(config),
            now: Instant::ZERO,
        }
    }

    /// The connection across the hop.
    pub(crate) fn hop(&self) -> &Endpoint {
        &self.hop
    }

    /// The connection across the wire.
    pub(crate) fn wired(&self) -> &Endpoint {
        &self.wired
    }

    /// A segment arrives from either side.
    pub(crate) fn segment(&mut self, now: Instant, segment: TcpSegment) {
        self.now = now;
        let side = if segment.source == self.wired.connection().remote {
            Side::Fixed
        } else {
            Side::Mobile
        };
        self.tell_end(side, tcp::Input::Segment(segment));
    }

    fn end(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Fixed => &mut self.wired,
            Side::Mobile => &mut self.hop,
        }
    }

    fn tell_end(&mut self, side: Side, input: tcp::Input) {
        let now = self.now;
        self.end(side).handle_input(now, input);
    }

    fn tell(&mut self, input: redirector::Input<Count>) {
        self.redirector.handle_input(self.now, input);
    }

    /// What an end of TCP puts out.
    fn take_event(&mut self, side: Side, output: tcp::Output) -> Option<Leaves> {
        let stream = Stream {
            binding: BINDING,
            side,
        };
        match output {
            tcp::Output::Segment(segment) => {
                return Some(match side {
                    Side::Fixed => Leaves::ToFixed(segment),
                    Side::Mobile => Leaves::ToMobile(segment),
                });
            }
            tcp::Output::Connected if side == Side::Fixed => {
                let destination = self.hop.connection().remote.into();
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
                (Side::Mobile, self.hop.poll_output()?)
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
