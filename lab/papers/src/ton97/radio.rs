//! One end of a hop between radio routers: it tells its neighbour how long its queue is, judges what is missing of the
//! fixed host's flow, and marks the acknowledgements that pass back.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::rc::Rc;

use channel::{Amount, Direction};
use machine::Machine;
use simulator::{Input, LinkId, Observer, Output, Port};
use units::{Duration, Instant};
use wire::packet::PacketBuffer;

use super::judge::Judge;
use super::network::FIXED;
use super::node::{AIR, Event, WIRED};
use super::packet::Packet;

/// Packets that wait for the air at a radio; its driver writes it, and the radio reads it.
pub(crate) type Waiting = Rc<Cell<u64>>;

/// When a radio tells its neighbour how much waits.
#[derive(Debug)]
pub(crate) struct Telling {
    /// How often.
    pub(crate) every: Duration,
    /// What it tells.
    pub(crate) waiting: Waiting,
    /// When it does so next.
    pub(crate) next: Instant,
}

/// One end of a hop.
#[derive(Debug)]
pub(crate) struct Radio {
    judge: Judge,
    telling: Option<Telling>,
    forwards: VecDeque<(Port, Packet)>,
}

impl Radio {
    /// An end that judges what comes across the air, and tells what waits at it if the ends exchange that.
    pub(crate) fn new(judge: Judge, telling: Option<Telling>) -> Self {
        Self {
            judge,
            telling,
            forwards: VecDeque::new(),
        }
    }

    fn take(&mut self, port: Port, mut packet: Packet) {
        match &mut packet {
            Packet::Segment { segment, .. } if port == AIR && segment.source == FIXED => {
                self.judge.came(segment.payload_range());
            }
            Packet::Segment { segment, .. } if port == WIRED && segment.destination == FIXED => {
                self.judge
                    .mark(segment.acknowledgment, &mut segment.options);
            }
            Packet::Segment { .. } | Packet::Mtcp(_) => {}
            Packet::Frame(note) => {
                if let Some(bytes) = note.first_chunk() {
                    self.judge.told(u32::from_be_bytes(*bytes).into());
                }
                return;
            }
        }
        let other = if port == WIRED { AIR } else { WIRED };
        self.forwards.push_back((other, packet));
    }
}

/// What a radio tells: packets, in four bytes.
fn note(packets: u64) -> Packet {
    let packets = u32::try_from(packets).unwrap_or(u32::MAX);
    Packet::Frame(PacketBuffer::copy_of(&packets.to_be_bytes()))
}

impl Machine for Radio {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, _now: Instant, input: Self::Input) {
        match input {
            Input::Packet { port, packet } => self.take(port, packet),
            Input::Corrupted {
                packet: Packet::Segment { segment, .. },
                ..
            } if segment.source == FIXED => self.judge.heard(segment.payload_range()),
            // Of all else that arrives with an error, nothing can be read.
            Input::Corrupted { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(telling) = &mut self.telling
            && telling.next <= now
        {
            telling.next = now + telling.every;
            let note = note(telling.waiting.get());
            self.forwards.push_back((AIR, note));
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        let (port, packet) = self.forwards.pop_front()?;
        Some(Output::Send { port, packet })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.telling.as_ref().map(|telling| telling.next)
    }
}

/// The driver of radios, or of a base station: an observer that writes what waits at each direction of a link.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    queues: Vec<((LinkId, Direction), Waiting)>,
}

impl Driver {
    /// Writes `waiting` whenever something changes there.
    pub(crate) fn watch(&mut self, at: (LinkId, Direction), waiting: Waiting) {
        self.queues.push((at, waiting));
    }
}

impl<N: simulator::Node> Observer<N> for Driver {
    fn waiting(
        &mut self,
        _now: Instant,
        at: (LinkId, Direction),
        queue: Amount,
    ) -> ControlFlow<()> {
        let mut queues = self.queues.iter();
        if let Some((_, waiting)) = queues.find(|(known, _)| *known == at) {
            waiting.set(queue.packets);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
