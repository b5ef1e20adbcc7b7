//! The processor of a slow host: every packet costs it time, and what comes meanwhile waits in a small buffer of the
//! card, or is lost.

use std::collections::VecDeque;

use channel::QueueBound;
use machine::RandomStream;
use serde::Deserialize;
use simulator::Packet as _;
use units::{Duration, Instant};

use super::packet::Packet;

/// What packets cost a host.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessorConfig {
    /// Each packet, received or sent.
    pub(crate) packet: Duration,
    /// Every 1,000 bytes of a packet.
    pub(crate) kilobyte: Duration,
    /// By so many percent, 0 to 100, a packet may cost less or more; every cost between is equally likely.
    pub(crate) variation: u64,
    /// What the card holds of packets that arrive, the one at work included; what comes on top of that is lost.
    pub(crate) receive_buffer: QueueBound,
}

/// A packet that was dealt with.
#[derive(Debug)]
pub(super) enum Done {
    /// It is for this host.
    Received(Packet),
    /// It goes out to the link.
    Sent(Packet),
}

/// A processor and what waits for it.
#[derive(Debug)]
pub(super) struct Processor {
    config: ProcessorConfig,
    chance: RandomStream,
    received: VecDeque<Packet>,
    to_send: VecDeque<Packet>,
    /// What is at work, and until when.
    work: Option<(Instant, Done)>,
    finished: VecDeque<Done>,
    overflows: u64,
}

impl ProcessorConfig {
    /// A host that packets cost nothing.
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

    /// A packet arrived at the card.
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

    /// The host wants a packet sent.
    pub(super) fn send(&mut self, now: Instant, packet: Packet) {
        self.to_send.push_back(packet);
        self.begin(now);
    }

    /// Turns to the next packet; the card's interrupts come first.
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

    /// The next packet that is finished.
    pub(super) fn poll(&mut self) -> Option<Done> {
        self.finished.pop_front()
    }

    /// When the work is done.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.work.as_ref().map(|(until, _)| *until)
    }

    /// Packets for which the card had no room.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }
}

#[cfg(test)]
mod tests;
