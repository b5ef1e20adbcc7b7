//! A mobile host and its driver, which sends one frame at a time.

use channel::{Frame, Station as OnAir, TransmitResult};
use simulator::{Input, Node, Output};
use units::Instant;

use super::interface::HOP;
use super::packet::{Carried, Filter};
use super::parameters::Driver;
use super::queue::Queue;

/// A mobile host with its driver.
#[derive(Debug)]
pub(crate) struct Mobile<H: Node> {
    number: u16,
    host: H,
    queue: Queue<H::Packet>,
    is_card_free: bool,
    filter: Filter,
}

impl<H: Node> Mobile<H> {
    /// Creates the mobile host of this number.
    pub(crate) fn new(number: u16, host: H, driver: Driver) -> Self {
        Self {
            number,
            host,
            queue: Queue::new(driver),
            is_card_free: true,
            filter: Filter::default(),
        }
    }

    /// Returns the host above the driver.
    pub(crate) fn host(&self) -> &H {
        &self.host
    }

    /// Returns the queue of its driver.
    pub(crate) fn queue(&self) -> &Queue<H::Packet> {
        &self.queue
    }

    /// Takes a frame from the air.
    pub(crate) fn hear(&mut self, now: Instant, carried: Carried<H::Packet>) {
        if let Some(packet) = self.filter.take(carried) {
            let port = HOP;
            self.host.handle_input(now, Input::Packet { port, packet });
        }
    }

    /// Takes the result of a frame from the card.
    pub(crate) fn ended(&mut self, now: Instant, fate: TransmitResult) {
        self.is_card_free = true;
        if fate == TransmitResult::Acknowledged {
            self.queue.delivered(now);
        } else {
            self.queue.failed();
        }
    }

    /// Takes the outputs of the host, up to its next event.
    pub(crate) fn act(&mut self, now: Instant) -> Option<H::Event> {
        loop {
            match self.host.poll_output()? {
                Output::Send { packet, .. } => self.queue.push(now, packet),
                Output::Event(event) => return Some(event),
            }
        }
    }

    /// Returns the frame that the driver hands to the card.
    pub(crate) fn poll_frame(&mut self) -> Option<Frame<Carried<H::Packet>>> {
        let payload = self.queue.head().filter(|_| self.is_card_free)?;
        self.is_card_free = false;
        Some(Frame {
            from: OnAir::Mobile(self.number),
            mobile: self.number,
            size: payload.length(),
            payload,
        })
    }

    /// See [`Node::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.host.handle_timeout(now);
    }

    /// See [`Node::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.host.poll_timeout()
    }
}
