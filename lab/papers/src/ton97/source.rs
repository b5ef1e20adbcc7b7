//! The fixed host: an application that writes so many bytes, over TCP.

use machine::Machine;
use simulator::{Input, Output};
use tcp::Endpoint;
use units::{Bytes, Instant};

use super::node::{Event, WIRED};
use super::packet::Packet;

/// The fixed host.
#[derive(Debug)]
pub(crate) struct Source {
    endpoint: Endpoint,
    transfer: Bytes,
    started: bool,
}

impl Source {
    /// A host that sends `transfer` from time zero on.
    pub(crate) fn new(endpoint: Endpoint, transfer: Bytes) -> Self {
        Self {
            endpoint,
            transfer,
            started: false,
        }
    }

    /// Its TCP.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn start(&mut self, now: Instant) {
        self.started = true;
        let write = tcp::Input::Write(self.transfer.get());
        for input in [tcp::Input::Connect, write, tcp::Input::Close] {
            self.endpoint.handle_input(now, input);
        }
    }
}

impl Machine for Source {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        if let Input::Packet {
            packet: Packet::Segment { segment, .. },
            ..
        } = input
        {
            self.endpoint
                .handle_input(now, tcp::Input::Segment(segment));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.started {
            self.endpoint.handle_timeout(now);
        } else {
            self.start(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        loop {
            match self.endpoint.poll_output()? {
                tcp::Output::Segment(segment) => {
                    return Some(Output::Send {
                        port: WIRED,
                        packet: segment.into(),
                    });
                }
                tcp::Output::Reset => return Some(Output::Event(Event::Broken)),
                tcp::Output::Connected
                | tcp::Output::Readable(_)
                | tcp::Output::Writable(_)
                | tcp::Output::Finished => {}
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.started {
            self.endpoint.poll_timeout()
        } else {
            Some(Instant::ZERO)
        }
    }
}
