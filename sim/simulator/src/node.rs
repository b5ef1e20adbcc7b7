//! Nodes at the ends of links.

use machine::Machine;
use units::Instant;

use crate::Packet;

/// A port of a node; each node numbers its own, from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A node of one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Returns the index of the node, in the order in which nodes were added, from zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An input of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<P> {
    /// A packet arrives.
    Packet {
        /// Port of arrival.
        port: Port,
        /// The packet.
        packet: P,
    },
    /// A packet arrives with an error that its checksum shows; only from a line [with reports of
    /// corruption](crate::Line::with_corruption_heard).
    Corrupted {
        /// Port of arrival.
        port: Port,
        /// The packet as it was sent.
        packet: P,
    },
}

/// An output of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<P, E> {
    /// Hand a packet to the link at a port.
    Send {
        /// Port of the link.
        port: Port,
        /// The packet.
        packet: P,
    },
    /// An event to report to the observer.
    Event(E),
}

/// A machine that can be a node of a simulation; every machine with these inputs and outputs is one.
///
/// A node that must act before anything arrives has a deadline from the start. A deadline in the past counts as now.
pub trait Node {
    /// Type of the packets that it sends and receives.
    type Packet: Packet;
    /// Type of the events that it reports.
    type Event;

    /// Handles an input; see [`Machine::handle_input`].
    fn handle_input(&mut self, now: Instant, input: Input<Self::Packet>);

    /// Handles deadlines that have come; see [`Machine::handle_timeout`].
    fn handle_timeout(&mut self, now: Instant);

    /// Returns the next output; see [`Machine::poll_output`].
    fn poll_output(&mut self) -> Option<Output<Self::Packet, Self::Event>>;

    /// Returns the next deadline; see [`Machine::poll_timeout`].
    fn poll_timeout(&self) -> Option<Instant>;
}

impl<M, P, E> Node for M
where
    M: Machine<Input = Input<P>, Output = Output<P, E>>,
    P: Packet,
{
    type Packet = P;
    type Event = E;

    fn handle_input(&mut self, now: Instant, input: Input<P>) {
        Machine::handle_input(self, now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll_output(&mut self) -> Option<Output<P, E>> {
        Machine::poll_output(self)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Machine::poll_timeout(self)
    }
}
