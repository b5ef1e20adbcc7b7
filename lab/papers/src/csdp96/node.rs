//! The nodes of the network: the fixed hosts, and the air with its stations.

use machine::Machine;
use simulator::{Input, Output};
use units::Instant;

use super::cell::Cell;
use super::fixed::FixedHosts;
use super::interface::Event;
use super::packet::Packet;
use super::receiver::Receiver;

/// A node of the network.
#[derive(Debug)]
pub(crate) enum CsdpNode {
    /// The fixed hosts.
    Fixed(Box<FixedHosts>),
    /// The air with its stations.
    Cell(Box<Cell<Receiver>>),
}

impl Machine for CsdpNode {
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
