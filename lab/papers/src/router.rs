//! A router.

use std::collections::VecDeque;
use std::fmt::Debug;

use simulator::Port;

/// A packet with a destination.
pub(crate) trait Addressed {
    /// Type of the addresses of hosts.
    type Address: PartialEq + Copy + Debug;

    /// Returns the destination; `None` for a packet that belongs to one link.
    fn destination(&self) -> Option<Self::Address>;
}

/// A router that forwards each packet towards its destination.
#[derive(Debug)]
pub(crate) struct Router<P: Addressed> {
    routes: Vec<(P::Address, Port)>,
    forwards: VecDeque<(Port, P)>,
}

impl<P: Addressed> Router<P> {
    /// Creates a router with these routes; packets to any other destination are dropped.
    pub(crate) fn new(routes: Vec<(P::Address, Port)>) -> Self {
        Self {
            routes,
            forwards: VecDeque::new(),
        }
    }

    /// Takes a packet that has arrived.
    pub(crate) fn take(&mut self, packet: P) {
        let Some(destination) = packet.destination() else {
            return;
        };
        let mut routes = self.routes.iter();
        if let Some((_, port)) = routes.find(|(host, _)| *host == destination) {
            self.forwards.push_back((*port, packet));
        }
    }

    /// Returns the next packet that leaves, with its port.
    pub(crate) fn poll(&mut self) -> Option<(Port, P)> {
        self.forwards.pop_front()
    }

    /// Returns true if no packet waits to leave.
    pub(crate) fn is_empty(&self) -> bool {
        self.forwards.is_empty()
    }
}
