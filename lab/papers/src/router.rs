//! A router.

use std::collections::VecDeque;
use std::fmt::Debug;

use simulator::Port;

/// A packet that says where it goes.
pub(crate) trait Addressed {
    /// How hosts are told apart.
    type Address: PartialEq + Copy + Debug;

    /// Where it goes; nothing for a packet that belongs to one link.
    fn destination(&self) -> Option<Self::Address>;
}

/// Forwards each packet to where its destination is.
#[derive(Debug)]
pub(crate) struct Router<P: Addressed> {
    routes: Vec<(P::Address, Port)>,
    forwards: VecDeque<(Port, P)>,
}

impl<P: Addressed> Router<P> {
    /// A router that knows these ways; what is for nobody goes nowhere.
    pub(crate) fn new(routes: Vec<(P::Address, Port)>) -> Self {
        Self {
            routes,
            forwards: VecDeque::new(),
        }
    }

    /// A packet has arrived.
    pub(crate) fn take(&mut self, packet: P) {
        let Some(destination) = packet.destination() else {
            return;
        };
        let mut routes = self.routes.iter();
        if let Some((_, port)) = routes.find(|(host, _)| *host == destination) {
            self.forwards.push_back((*port, packet));
        }
    }

    /// The next packet that leaves, and where.
    pub(crate) fn poll(&mut self) -> Option<(Port, P)> {
        self.forwards.pop_front()
    }

    /// Whether nothing waits to leave.
    pub(crate) fn is_empty(&self) -> bool {
        self.forwards.is_empty()
    }
}
