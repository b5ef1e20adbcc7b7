//! One end of a hop between radio routers: it reports the length of its queue to its neighbour, judges gaps in the
//! fixed host's flow, and marks the acknowledgements that pass back.

use std::collections::VecDeque;

use machine::Machine;
use simulator::{Input, Output, Port};
use units::{Duration, Instant};
use wire::packet::PacketBuffer;

use super::driver::Waiting;
use super::interface::{AIR, Event, FIXED, WIRED};
use super::judge::Judge;
use super::packet::Packet;

/// The reports of a radio to its neighbour on its queue.
#[derive(Debug)]
pub(crate) struct QueueReports {
    /// Time between two reports.
    pub(crate) every: Duration,
    /// The number to report.
    pub(crate) waiting: Waiting,
    /// Time of the next report.
    pub(crate) next: Instant,
}

/// One end of a hop.
#[derive(Debug)]
pub(crate) struct Radio {
    judge: Judge,
    telling: Option<QueueReports>,
    forwards: VecDeque<(Port, Packet)>,
}

impl Radio {
    /// Creates an end that judges packets from the air, and reports its own queue if the ends exchange these reports.
    pub(crate) fn new(judge: Judge, telling: Option<QueueReports>) -> Self {
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

/// Returns the report of a radio: the number of packets, in four bytes.
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
            // Nothing else that arrives with an error can be read.
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

#[cfg(test)]
mod tests;
