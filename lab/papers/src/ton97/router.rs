//! A router of the wired network.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use machine::Machine;
use simulator::{Input, Output, Port};
use units::Instant;

use super::node::Event;
use super::packet::Packet;

/// Forwards each segment to where its destination is.
#[derive(Debug)]
pub(crate) struct Router {
    routes: Vec<(SocketAddrV4, Port)>,
    forwards: VecDeque<(Port, Packet)>,
}

impl Router {
    /// A router that knows these ways; what is for nobody goes nowhere.
    pub(crate) fn new(routes: Vec<(SocketAddrV4, Port)>) -> Self {
        Self {
            routes,
            forwards: VecDeque::new(),
        }
    }
}

impl Machine for Router {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, _now: Instant, input: Self::Input) {
        let Input::Packet { packet, .. } = input else {
            return;
        };
        let Packet::Segment { segment, .. } = &packet else {
            return;
        };
        let mut routes = self.routes.iter();
        if let Some((_, port)) = routes.find(|(host, _)| *host == segment.destination) {
            self.forwards.push_back((*port, packet));
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_output(&mut self) -> Option<Self::Output> {
        let (port, packet) = self.forwards.pop_front()?;
        Some(Output::Send { port, packet })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
