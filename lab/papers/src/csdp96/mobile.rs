//! A mobile host: TCP, an application that reads, and a driver with one frame at a time.

use channel::{Fate, Frame, Station as OnAir};
use machine::Machine;
use tcp::Endpoint;
use units::Instant;

use super::flow::Delays;
use super::node::Event;
use super::packet::{Carried, Content, Filter, Packet};
use super::parameters::Driver;
use super::queue::Queue;

/// What a mobile host is there for.
#[derive(Debug)]
pub(crate) enum Role {
    /// It receives a file.
    Connection {
        endpoint: Box<Endpoint>,
        /// What its application still waits for, in bytes.
        missing: u64,
    },
    /// It receives a flow.
    Flow(Delays),
}

/// A mobile host.
#[derive(Debug)]
pub(crate) struct Mobile {
    number: u16,
    role: Role,
    queue: Queue,
    is_card_free: bool,
    filter: Filter,
}

impl Mobile {
    /// The host of that number.
    pub(crate) fn new(number: u16, role: Role, driver: Driver) -> Self {
        Self {
            number,
            role,
            queue: Queue::new(driver),
            is_card_free: true,
            filter: Filter::default(),
        }
    }

    /// Its TCP, if it receives a file.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        match &self.role {
            Role::Connection { endpoint, .. } => Some(endpoint),
            Role::Flow(_) => None,
        }
    }

    /// How late datagrams were, if it receives a flow.
    pub(crate) fn delays(&self) -> Option<&Delays> {
        match &self.role {
            Role::Connection { .. } => None,
            Role::Flow(delays) => Some(delays),
        }
    }

    /// Its driver's queue.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// A frame came from the air.
    pub(crate) fn hear(&mut self, now: Instant, carried: Carried) {
        let Some(packet) = self.filter.take(carried) else {
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

    /// The card is done with a frame.
    pub(crate) fn ended(&mut self, now: Instant, fate: Fate) {
        self.is_card_free = true;
        if fate == Fate::Acknowledged {
            self.queue.delivered(now);
        } else {
            self.queue.failed();
        }
    }

    /// Lets TCP and application act until both are done; gives what the latter has to tell.
    pub(crate) fn act(&mut self, now: Instant) -> Option<Event> {
        let mut event = None;
        let Role::Connection { endpoint, missing } = &mut self.role else {
            return None;
        };
        while let Some(output) = endpoint.poll_output() {
            match output {
                tcp::Output::Segment(segment) => {
                    let (mobile, content) = (self.number, Content::Segment(segment));
                    self.queue.push(now, Packet { mobile, content });
                }
                tcp::Output::Readable(count) => {
                    endpoint.handle_input(now, tcp::Input::Read(count));
                    if *missing > 0 && *missing <= count {
                        event = Some(Event::Done(self.number));
                    }
                    *missing = missing.saturating_sub(count);
                }
                tcp::Output::Finished => endpoint.handle_input(now, tcp::Input::Close),
                tcp::Output::Reset => event = Some(Event::Broken(self.number)),
                tcp::Output::Connected | tcp::Output::Writable(_) => {}
            }
        }
        event
    }

    /// The frame that the driver hands to the card.
    pub(crate) fn poll_frame(&mut self) -> Option<Frame<Carried>> {
        let payload = self.queue.head().filter(|_| self.is_card_free)?;
        self.is_card_free = false;
        Some(Frame {
            from: OnAir::Mobile(self.number),
            mobile: self.number,
            size: payload.length(),
            payload,
        })
    }

    /// See [`Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Role::Connection { endpoint, .. } = &mut self.role {
            endpoint.handle_timeout(now);
        }
    }

    /// See [`Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint().and_then(Endpoint::poll_timeout)
    }
}
