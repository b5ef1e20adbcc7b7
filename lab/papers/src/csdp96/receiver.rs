//! The application of a mobile host: TCP and a reader, or the receiver of a flow.

use machine::{Machine, earlier};
use simulator::{Input, Output};
use tcp::Endpoint;
use units::Instant;

use super::flow::{Delays, FlowSender};
use super::interface::{Event, HOP};
use super::packet::{Content, Packet};

/// Role of a mobile host.
#[derive(Debug)]
pub(crate) enum Role {
    /// It receives a file.
    Connection {
        endpoint: Box<Endpoint>,
        /// Bytes that its application still waits for.
        missing: u64,
    },
    /// It receives a flow.
    Flow(Delays),
}

/// A mobile host above its driver.
#[derive(Debug)]
pub(crate) struct Receiver {
    number: u16,
    role: Role,
    now: Instant,
    /// Flow that it also sends to its fixed host.
    uplink: Option<FlowSender>,
}

impl Receiver {
    /// Creates the host of this number.
    pub(crate) fn new(number: u16, role: Role) -> Self {
        Self {
            number,
            role,
            now: Instant::ZERO,
            uplink: None,
        }
    }

    /// Returns the same host with a flow that it sends.
    pub(crate) fn with_uplink(self, uplink: Option<FlowSender>) -> Self {
        Self { uplink, ..self }
    }

    /// Returns its TCP, if it receives a file.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        match &self.role {
            Role::Connection { endpoint, .. } => Some(endpoint),
            Role::Flow(_) => None,
        }
    }

    /// Returns the delays of datagrams, if it receives a flow.
    pub(crate) fn delays(&self) -> Option<&Delays> {
        match &self.role {
            Role::Connection { .. } => None,
            Role::Flow(delays) => Some(delays),
        }
    }
}

impl Machine for Receiver {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
        let Input::Packet { packet, .. } = input else {
            return;
        };
        match (&mut self.role, packet.content) {
            (Role::Connection { endpoint, .. }, Content::Segment(segment)) => {
                endpoint.handle_input(now, tcp::Input::Segment(segment));
            }
            (Role::Flow(delays), Content::Datagram { sent, .. }) => delays.arrived(now.since(sent)),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if let Role::Connection { endpoint, .. } = &mut self.role
            && endpoint.poll_timeout().is_some_and(|due| due <= now)
        {
            endpoint.handle_timeout(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        let sent = self.now;
        if let Some(length) = self.uplink.as_mut().and_then(|talker| talker.talk(sent)) {
            let (mobile, content) = (self.number, Content::Datagram { length, sent });
            let (port, packet) = (HOP, Packet { mobile, content });
            return Some(Output::Send { port, packet });
        }
        let Role::Connection { endpoint, missing } = &mut self.role else {
            return None;
        };
        loop {
            match endpoint.poll_output()? {
                tcp::Output::Segment(segment) => {
                    let (mobile, content) = (self.number, Content::Segment(segment));
                    let (port, packet) = (HOP, Packet { mobile, content });
                    return Some(Output::Send { port, packet });
                }
                tcp::Output::Readable(count) => {
                    endpoint.handle_input(self.now, tcp::Input::Read(count));
                    let is_last = (1..=count).contains(missing);
                    *missing = missing.saturating_sub(count);
                    if is_last {
                        return Some(Output::Event(Event::Done(self.number)));
                    }
                }
                tcp::Output::Finished => endpoint.handle_input(self.now, tcp::Input::Close),
                tcp::Output::Reset => return Some(Output::Event(Event::Broken(self.number))),
                tcp::Output::Connected | tcp::Output::Writable(_) => {}
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let endpoint = self.endpoint().and_then(Endpoint::poll_timeout);
        earlier(endpoint, self.uplink.as_ref().map(FlowSender::next))
    }
}
