//! A mobile host: TCP, an application that reads, and a driver with one frame at a time.

use channel::{Fate, Frame, Station as OnAir};
use machine::Machine;
use tcp::Endpoint;
use units::Instant;

use super::node::Event;
use super::packet::{Carried, Filter, Packet};
use super::parameters::Driver;
use super::queue::Queue;

/// A mobile host.
#[derive(Debug)]
pub(crate) struct Mobile {
    number: u16,
    endpoint: Endpoint,
    /// What its application still waits for, in bytes.
    missing: u64,
    queue: Queue,
    is_card_free: bool,
    filter: Filter,
}

impl Mobile {
    /// The host of that number, whose application waits for so many bytes.
    pub(crate) fn new(number: u16, endpoint: Endpoint, transfer: u64, driver: Driver) -> Self {
        Self {
            number,
            endpoint,
            missing: transfer,
            queue: Queue::new(driver),
            is_card_free: true,
            filter: Filter::default(),
        }
    }

    /// Its TCP.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its driver's queue.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// A frame came from the air.
    pub(crate) fn from_air(&mut self, now: Instant, carried: Carried) {
        if let Some(Packet { segment, .. }) = self.filter.take(carried) {
            self.endpoint
                .handle_input(now, tcp::Input::Segment(segment));
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
        while let Some(output) = self.endpoint.poll_output() {
            match output {
                tcp::Output::Segment(segment) => {
                    let mobile = self.number;
                    self.queue.push(now, Packet { mobile, segment });
                }
                tcp::Output::Readable(count) => {
                    self.endpoint.handle_input(now, tcp::Input::Read(count));
                    if self.missing > 0 && self.missing <= count {
                        event = Some(Event::Done(self.number));
                    }
                    self.missing = self.missing.saturating_sub(count);
                }
                tcp::Output::Finished => self.endpoint.handle_input(now, tcp::Input::Close),
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
        self.endpoint.handle_timeout(now);
    }

    /// See [`Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}
