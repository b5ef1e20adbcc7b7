//! One direction of a channel: what waits, and what is on its way.

use std::collections::VecDeque;

use units::{Bytes, Instant};

use crate::Direction;
use crate::channel::{Cause, Output};
use crate::counters::{Amount, Counters};
use crate::errors::ErrorModel;
use crate::link::Link;
use crate::pacer::Pacer;
use crate::plan::Plan;

/// Room for this many packets is there from the start.
const ROOM: usize = 256;

#[derive(Debug, Clone)]
pub(crate) struct Lane<T> {
    direction: Direction,
    plan: Plan,
    errors: ErrorModel,
    queue: VecDeque<Packet<T>>,
    /// What goes before the queue.
    ahead: VecDeque<Packet<T>>,
    waiting: Amount,
    flight: VecDeque<Flight<T>>,
    last_arrival: Instant,
    counters: Counters,
}

/// A packet inside the channel.
#[derive(Debug, Clone)]
pub(crate) struct Packet<T> {
    /// When it joined the queue.
    pub(crate) arrived: Instant,
    /// Its number among all packets, which orders what arrives at one time.
    pub(crate) sequence: u64,
    pub(crate) size: Bytes,
    pub(crate) payload: T,
}

/// A packet that has left the queue.
#[derive(Debug, Clone)]
struct Flight<T> {
    arrives: Instant,
    lost: bool,
    packet: Packet<T>,
}

impl<T> Lane<T> {
    pub(crate) fn new(link: &Link, direction: Direction, seed: u64) -> Self {
        Self {
            direction,
            plan: link.plan(direction).clone(),
            errors: link.errors(direction).build(seed, direction),
            queue: VecDeque::with_capacity(ROOM),
            ahead: VecDeque::new(),
            waiting: Amount::default(),
            flight: VecDeque::with_capacity(ROOM),
            last_arrival: Instant::ZERO,
            counters: Counters::default(),
        }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn waiting(&self) -> Amount {
        self.waiting
    }

    pub(crate) fn waits(&self) -> bool {
        !(self.queue.is_empty() && self.ahead.is_empty())
    }

    /// Queues a packet; gives its payload back if the queue is full.
    pub(crate) fn offer(&mut self, packet: Packet<T>, ahead: bool) -> Result<(), T> {
        let size = packet.size;
        self.counters.offered.add(size);
        let bound = self.plan.at(packet.arrived).0.queue;
        if !bound.admits(self.waiting, size) {
            self.counters.dropped_queue.add(size);
            return Err(packet.payload);
        }
        self.waiting.add(size);
        self.counters.inside.add(size);
        if ahead {
            self.ahead.push_back(packet);
        } else {
            self.queue.push_back(packet);
        }
        Ok(())
    }

    /// Keeps the most that ever waited; asked after a packet that need not wait has left.
    pub(crate) fn note_queue(&mut self) {
        self.counters.note_queue(self.waiting);
    }

    /// Transmits the packet at the head of the queue.
    pub(crate) fn transmit(&mut self, pacer: &mut Pacer) {
        let next = self.ahead.pop_front().or_else(|| self.queue.pop_front());
        let Some(packet) = next else {
            return;
        };
        let airtime = pacer.transmit(packet.arrived, packet.size, &self.plan);
        self.counters.transmitted.add(packet.size);
        self.counters.wait += airtime.start.since(packet.arrived);
        self.waiting.remove(packet.size);
        let lost = self.errors.loses(airtime, packet.size);
        let delay = self.plan.at(airtime.finish).0.delay;
        self.last_arrival = self.last_arrival.max(airtime.finish + delay);
        self.flight.push_back(Flight {
            arrives: self.last_arrival,
            lost,
            packet,
        });
    }

    /// When the next packet arrives, or would have, and its number.
    pub(crate) fn next_arrival(&self) -> Option<(Instant, u64)> {
        let next = self.flight.front()?;
        Some((next.arrives, next.packet.sequence))
    }

    /// Takes the next packet from the air.
    pub(crate) fn arrive(&mut self) -> Option<Output<T>> {
        let Flight { lost, packet, .. } = self.flight.pop_front()?;
        self.counters.inside.remove(packet.size);
        let (direction, payload) = (self.direction, packet.payload);
        if lost {
            self.counters.dropped_air.add(packet.size);
            let cause = Cause::Air;
            return Some(Output::Drop {
                direction,
                payload,
                cause,
            });
        }
        self.counters.delivered.add(packet.size);
        Some(Output::Deliver { direction, payload })
    }
}
