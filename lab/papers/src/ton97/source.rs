//! The fixed host: TCP, and an application that opens the connection.

use machine::Machine;
use simulator::{Input, Output};
use tcp::Endpoint;
use units::{Bytes, Instant};

use super::application::Application;
use super::interface::{Event, WIRED};
use super::packet::Packet;

/// The fixed host.
#[derive(Debug)]
pub(crate) struct Source {
    endpoint: Endpoint,
    application: Application,
    started: bool,
    now: Instant,
}

impl Source {
    /// Creates a host that sends `transfer` from time zero on.
    pub(crate) fn new(endpoint: Endpoint, transfer: Bytes) -> Self {
        Self::with(endpoint, Application::new(transfer.get(), 0))
    }

    /// Creates a host whose application connects at time zero.
    pub(crate) fn with(endpoint: Endpoint, application: Application) -> Self {
        Self {
            endpoint,
            application,
            started: false,
            now: Instant::ZERO,
        }
    }

    /// Returns its TCP.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn start(&mut self, now: Instant) {
        self.started = true;
        let endpoint = &mut self.endpoint;
        endpoint.handle_input(now, tcp::Input::Connect);
        self.application
            .write(|input| endpoint.handle_input(now, input));
    }
}

impl Machine for Source {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
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
        self.now = now;
        if self.started {
            self.endpoint.handle_timeout(now);
        } else {
            self.start(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        loop {
            let output = self.endpoint.poll_output()?;
            if let tcp::Output::Segment(segment) = output {
                return Some(Output::Send {
                    port: WIRED,
                    packet: segment.into(),
                });
            }
            let (now, endpoint) = (self.now, &mut self.endpoint);
            let tell = |input| endpoint.handle_input(now, input);
            if let Some(event) = self.application.take(&output, tell) {
                return Some(Output::Event(event));
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
