//! One direction of a channel: packets that wait, and packets on their way.

use std::collections::VecDeque;

use units::{Bytes, Instant};

use crate::Direction;
use crate::counters::{Amount, Cause, Counters};
use crate::errors::ErrorModel;
use crate::journey::{End, Journey};
use crate::link::Link;
use crate::pacer::Pacer;
use crate::plan::Plan;
use crate::traffic::Output;

/// Most bytes inside one direction. The queue has a bound of its own; packets on their way have none where the rate is
/// unlimited.
const INSIDE_MAX: Bytes = Bytes::mebi(256);

#[derive(Debug, Clone)]
pub(crate) struct Lane<T> {
    direction: Direction,
    plan: Plan,
    /// Packets in the order in which they leave: those on the air, those that go ahead of the queue, the queue. A
    /// packet is not moved between its arrival here and its delivery.
    packets: VecDeque<Packet<T>>,
    /// Number of packets on the air.
    flying: usize,
    /// Number of waiting packets that go ahead of the queue.
    ahead: usize,
    waiting: Amount,
    last_arrival: Instant,
    /// Highest place, in the order of transmissions, of a packet that has come to the end of its way.
    furthest: u64,
    journey: Journey,
    counters: Counters,
}

/// A packet inside the channel.
#[derive(Debug, Clone)]
pub(crate) struct Packet<T> {
    /// Time at which it joined the queue.
    pub(crate) arrived: Instant,
    /// Number of the packet, which orders packets that arrive at the same time.
    pub(crate) sequence: u64,
    pub(crate) size: Bytes,
    pub(crate) payload: T,
    /// Result of its transmission; meaningless while it waits.
    pub(crate) flight: Flight,
}

/// A transmission that has begun.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    arrives: Instant,
    /// Place in the order of transmissions.
    place: u64,
    end: End,
}

impl<T> Lane<T> {
    pub(crate) fn new(link: &Link, direction: Direction, seed: u64) -> Self {
        Self {
            direction,
            plan: link.plan(direction).clone(),
            packets: VecDeque::new(),
            flying: 0,
            ahead: 0,
            waiting: Amount::default(),
            last_arrival: Instant::ZERO,
            furthest: 0,
            journey: Journey::new(link.journey(direction), seed, direction),
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
        self.flying < self.packets.len()
    }

    /// Queues a packet. Returns its payload with the cause if a policer drops it, it is too long, or the queue is full.
    pub(crate) fn offer(&mut self, packet: Packet<T>, ahead: bool) -> Result<(), (Cause, T)> {
        let size = packet.size;
        self.counters.offered.add(size);
        if !self.journey.admits(packet.arrived, size) {
            self.counters.dropped_policer.add(size);
            return Err((Cause::Policer, packet.payload));
        }
        let step = self.plan.at(packet.arrived).0;
        let room = self.counters.inside.bytes + size <= INSIDE_MAX;
        let taken = if room {
            step.takes(self.waiting, size)
        } else {
            Err(Cause::QueueFull)
        };
        if let Err(cause) = taken {
            self.counters.dropped(cause).add(size);
            return Err((cause, packet.payload));
        }
        self.waiting.add(size);
        self.counters.inside.add(size);
        if ahead {
            self.packets.insert(self.flying + self.ahead, packet);
            self.ahead += 1;
        } else {
            self.packets.push_back(packet);
        }
        Ok(())
    }

    /// Updates the peak of the queue; called after a packet that need not wait has left.
    pub(crate) fn note_queue(&mut self) {
        self.counters.note_queue(self.waiting);
    }

    /// Transmits the packet at the head of the queue, and applies `errors` to it.
    pub(crate) fn transmit(&mut self, pacer: &mut Pacer, errors: &mut ErrorModel) {
        let Some(packet) = self.packets.get_mut(self.flying) else {
            return;
        };
        self.flying += 1;
        self.ahead = self.ahead.saturating_sub(1);
        let airtime = pacer.transmit(packet.arrived, packet.size, &self.plan);
        self.counters.transmitted.add(packet.size);
        self.counters.wait += airtime.start.since(packet.arrived);
        self.waiting.remove(packet.size);
        let delay = self.plan.at(airtime.finish).0.delay;
        let mut arrives = self.journey.arrival(airtime.finish + delay);
        if !self.journey.overtaking() {
            self.last_arrival = self.last_arrival.max(arrives);
            arrives = self.last_arrival;
        }
        packet.flight = Flight {
            arrives: arrives + self.journey.hold().unwrap_or_default(),
            place: self.counters.transmitted.packets,
            end: self.journey.end(errors.loses(airtime, packet.size)),
        };
        self.sort_in();
    }

    /// Moves the last transmitted packet to its place among those on their way: before those that arrive later.
    fn sort_in(&mut self) {
        let arrives = |packet: &Packet<T>| packet.flight.arrives;
        let mut place = self.flying - 1;
        while place > 0 && arrives(&self.packets[place - 1]) > arrives(&self.packets[place]) {
            self.packets.swap(place - 1, place);
            place -= 1;
        }
    }

    /// Returns the time at which the next packet arrives, or would have arrived, and its number.
    pub(crate) fn next_arrival(&self) -> Option<(Instant, u64)> {
        let next = self.packets.front().filter(|_| self.flying > 0)?;
        Some((next.flight.arrives, next.sequence))
    }

    /// Delivers or drops the next packet from the air; a packet that arrives twice stays for its second arrival.
    pub(crate) fn arrive(&mut self) -> Option<Output<T>>
    where
        T: Clone,
    {
        let first = self.packets.front_mut().filter(|_| self.flying > 0)?;
        if first.flight.end == End::ArrivesTwice {
            first.flight.end = End::Arrives;
            self.counters.faults.duplicated.add(first.size);
            let (direction, payload) = (self.direction, first.payload.clone());
            return Some(Output::Deliver { direction, payload });
        }
        self.flying = self.flying.checked_sub(1)?;
        let packet = self.packets.pop_front()?;
        if packet.flight.place < self.furthest {
            self.counters.faults.reordered.add(packet.size);
        }
        self.furthest = self.furthest.max(packet.flight.place);
        if self.packets.is_empty() {
            // The storage is used from its start again, so that it stays in the processor's cache.
            self.packets.clear();
        }
        self.counters.inside.remove(packet.size);
        let (direction, payload) = (self.direction, packet.payload);
        let gone = match packet.flight.end {
            End::Arrives | End::ArrivesTwice | End::Corrupted(_) => None,
            End::Lost => Some((Cause::Air, &mut self.counters.dropped_air)),
            End::Damaged => Some((Cause::Damage, &mut self.counters.damaged)),
        };
        if let Some((cause, count)) = gone {
            count.add(packet.size);
            return Some(Output::Drop {
                direction,
                payload,
                cause,
            });
        }
        self.counters.delivered.add(packet.size);
        if let End::Corrupted(flips) = packet.flight.end {
            self.counters.faults.corrupted.add(packet.size);
            return Some(Output::DeliverCorrupted {
                direction,
                payload,
                flips,
            });
        }
        Some(Output::Deliver { direction, payload })
    }
}
