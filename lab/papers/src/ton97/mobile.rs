//! The mobile host: TCP, an application that reads at once, and the near end of our link repair if there is one.

use machine::{Machine, earlier};
use simulator::{Input, Output};
use tcp::Endpoint;
use units::{Bytes, Instant};

use super::node::{AIR, Event};
use super::packet::Packet;
use super::repair::{Repair, Repaired};

/// The mobile host.
#[derive(Debug)]
pub(crate) struct Mobile {
    endpoint: Endpoint,
    repair: Option<Repair>,
    /// What is still to come.
    missing: u64,
    now: Instant,
}

impl Mobile {
    /// A host that waits for `transfer`.
    pub(crate) fn new(endpoint: Endpoint, repair: Option<Repair>, transfer: Bytes) -> Self {
        Self {
            endpoint,
            repair,
            missing: transfer.get(),
            now: Instant::ZERO,
        }
    }

    fn segment(&mut self, segment: wire::TcpSegment) {
        self.endpoint
            .handle_input(self.now, tcp::Input::Segment(segment));
    }

    /// Takes what TCP puts out; gives what leaves the host.
    fn take(&mut self, output: tcp::Output) -> Option<Output<Packet, Event>> {
        match output {
            tcp::Output::Segment(segment) => match &mut self.repair {
                Some(repair) => repair.cross(self.now, &segment),
                None => return Some(send(segment.into())),
            },
            tcp::Output::Readable(count) => {
                self.endpoint
                    .handle_input(self.now, tcp::Input::Read(count));
                let before = self.missing;
                self.missing = self.missing.saturating_sub(count);
                return (before > 0 && self.missing == 0).then_some(Output::Event(Event::Done));
            }
            tcp::Output::Finished => self.endpoint.handle_input(self.now, tcp::Input::Close),
            tcp::Output::Reset => return Some(Output::Event(Event::Broken)),
            tcp::Output::Connected | tcp::Output::Writable(_) => {}
        }
        None
    }
}

fn send(packet: Packet) -> Output<Packet, Event> {
    Output::Send { port: AIR, packet }
}

impl Machine for Mobile {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
        match input {
            Input::Packet {
                packet: Packet::Segment { segment, .. },
                ..
            } => self.segment(segment),
            Input::Packet {
                packet: Packet::Frame(frame),
                ..
            } => {
                if let Some(repair) = &mut self.repair {
                    repair.frame(now, frame);
                }
            }
            Input::Corrupted {
                packet: Packet::Segment { segment, .. },
                ..
            } => {
                let lost = tcp::Input::AirLoss(segment.payload_range());
                self.endpoint.handle_input(now, lost);
            }
            Input::Corrupted { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.endpoint.handle_timeout(now);
        if let Some(repair) = &mut self.repair {
            repair.handle_timeout(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        loop {
            if let Some(output) = self.endpoint.poll_output() {
                if let Some(leaves) = self.take(output) {
                    return Some(leaves);
                }
                continue;
            }
            match self.repair.as_mut()?.poll_output()? {
                Repaired::Frame(frame) => return Some(send(Packet::Frame(frame))),
                Repaired::Segment(segment) => self.segment(segment),
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let repair = self.repair.as_ref().and_then(Repair::poll_timeout);
        earlier(self.endpoint.poll_timeout(), repair)
    }
}
