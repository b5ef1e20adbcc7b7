//! The nodes of the network: the fixed hosts, and the air with its stations.

use machine::Machine;
use simulator::{Input, Output, Port};
use units::Instant;

use super::cell::Cell;
use super::fixed::FixedHosts;
use super::packet::Packet;
use super::receiver::Receiver;

/// The port towards the wire.
pub(crate) const WIRED: Port = Port(0);
/// The only port of a mobile host.
pub(crate) const HOP: Port = Port(0);

/// An event at a node, with the number of the mobile host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// All data have reached the application.
    Done(u16),
    /// A connection broke.
    Broken(u16),
}

/// A node of the network.
#[derive(Debug)]
pub(crate) enum Node {
    /// The fixed hosts.
    Fixed(Box<FixedHosts>),
    /// The air with its stations.
    Cell(Box<Cell<Receiver>>),
}

impl Machine for Node {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        match self {
            Self::Fixed(node) => node.handle_input(now, input),
            Self::Cell(node) => node.handle_input(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Fixed(node) => node.handle_timeout(now),
            Self::Cell(node) => node.handle_timeout(now),
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        match self {
            Self::Fixed(node) => node.poll_output(),
            Self::Cell(node) => node.poll_output(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Fixed(node) => node.poll_timeout(),
            Self::Cell(node) => node.poll_timeout(),
        }
    }
}
