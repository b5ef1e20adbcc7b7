//! The processor of a slow host: every packet takes processor time, and packets that arrive meanwhile wait in a small
//! buffer of the card, or are lost.

use std::collections::VecDeque;

use channel::QueueBound;
use machine::RandomStream;
use serde::Deserialize;
use simulator::Packet as _;
use units::{Duration, Instant};

use super::packet::Packet;

/// The cost of packets for a host.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessorConfig {
    /// Time for each packet, received or sent.
    pub(crate) packet: Duration,
    /// Time for every 1,000 bytes of a packet.
    pub(crate) kilobyte: Duration,
    /// Largest deviation of a packet's cost in percent, 0 to 100, up or down; uniformly distributed.
    pub(crate) variation: u64,
    /// Limit of the card's buffer for received packets, the one in work included; further packets are lost.
    pub(crate) receive_buffer: QueueBound,
}

/// A packet whose processing is finished.
#[derive(Debug)]
pub(super) enum Done {
    /// It was received for this host.
    Received(Packet),
    /// It is sent to the link.
    Sent(Packet),
}

/// A processor and the packets that wait for it.
#[derive(Debug)]
pub(super) struct Processor {
    config: ProcessorConfig,
    chance: RandomStream,
    received: VecDeque<Packet>,
    to_send: VecDeque<Packet>,
    /// The packet in work, and the time at which it is finished.
    work: Option<(Instant, Done)>,
    finished: VecDeque<Done>,
    overflows: u64,
}

impl ProcessorConfig {
    /// Creates the processor of a host for which packets cost nothing.
    pub(super) fn fast() -> Self {
        Self {
            packet: Duration::ZERO,
            kilobyte: Duration::ZERO,
            variation: 0,
            receive_buffer: QueueBound::Packets(u64::MAX),
        }
    }
}

impl Processor {
    pub(super) fn new(config: ProcessorConfig, chance: RandomStream) -> Self {
        Self {
            config,
            chance,
            received: VecDeque::new(),
            to_send: VecDeque::new(),
            work: None,
            finished: VecDeque::new(),
            overflows: 0,
        }
    }

    /// Takes a packet from the card.
    pub(super) fn receive(&mut self, now: Instant, packet: Packet) {
        let at_work = match &self.work {
            Some((_, Done::Received(packet))) => Some(packet),
            _ => None,
        };
        let kept = at_work.into_iter().chain(&self.received);
        let has_room = match self.config.receive_buffer {
            QueueBound::Packets(most) => (kept.count() as u64) < most,
            QueueBound::Bytes(most) => {
                kept.chain([&packet])
                    .map(Packet::length)
                    .sum::<units::Bytes>()
                    <= most
            }
        };
        if has_room {
            self.received.push_back(packet);
            self.begin(now);
        } else {
            self.overflows += 1;
        }
    }

    /// Queues a packet of the host to send.
    pub(super) fn send(&mut self, now: Instant, packet: Packet) {
        self.to_send.push_back(packet);
        self.begin(now);
    }

    /// Starts the next packet; received ones come first, as the card interrupts.
    fn begin(&mut self, now: Instant) {
        while self.work.is_none() {
            let received = self.received.pop_front().map(Done::Received);
            let next = received.or_else(|| self.to_send.pop_front().map(Done::Sent));
            let Some(next) = next else {
                return;
            };
            let cost = self.cost(&next);
            if cost.is_zero() {
                self.finished.push_back(next);
            } else {
                self.work = Some((now + cost, next));
            }
        }
    }

    fn cost(&mut self, done: &Done) -> Duration {
        let (Done::Received(packet) | Done::Sent(packet)) = done;
        let config = &self.config;
        let mean = config.packet + config.kilobyte.scaled(packet.length().get(), 1_000);
        let spread = mean.scaled(config.variation, 100);
        self.chance
            .uniform(mean.saturating_sub(spread), mean + spread)
    }

    /// Finishes the work whose time has come.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, done)) = self.work.take_if(|(until, _)| *until <= now) {
            self.finished.push_back(done);
            self.begin(now);
        }
    }

    /// Returns the next packet that is finished.
    pub(super) fn poll(&mut self) -> Option<Done> {
        self.finished.pop_front()
    }

    /// Returns the time at which the current work is finished.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.work.as_ref().map(|(until, _)| *until)
    }

    /// Returns the number of packets that the card dropped because its buffer was full.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }
}

#[cfg(test)]
mod tests;
