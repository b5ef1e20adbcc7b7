//! What stands in the network: the server's host, the base station, the air's middle, clients' hosts.

use machine::Machine;
use simulator::{Input, Output, Port};
use units::{Duration, Instant};

use super::client::ClientHost;
use super::packet::Packet;
use super::server::ServerHost;
use super::station::Station;
use crate::router::Router;

/// The port towards the wired network.
pub(crate) const WIRED: Port = Port(0);
/// The port towards the air.
pub(crate) const AIR: Port = Port(1);
/// A client's only port.
pub(crate) const LINK: Port = Port(0);

/// What a node tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client's application has copied its file, in this time.
    Copied(Duration),
    /// It could not; why.
    Failed(String),
}

/// A node of the network.
#[derive(Debug)]
pub(crate) enum Node {
    /// The host of the server.
    Server(Box<ServerHost>),
    /// The base station.
    Station(Box<Station>),
    /// Where one air meets several hosts: what crosses it, crosses it once and for one of them.
    Air(Router<Packet>),
    /// The host of a client.
    Client(Box<ClientHost>),
}

impl Machine for Node {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        match self {
            Self::Server(node) => node.handle_input(now, input),
            Self::Station(node) => node.handle_input(now, input),
            Self::Air(node) => {
                if let Input::Packet { packet, .. } = input {
                    node.take(packet);
                }
            }
            Self::Client(node) => node.handle_input(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Server(node) => node.handle_timeout(now),
            Self::Station(node) => node.handle_timeout(now),
            Self::Air(_) => {}
            Self::Client(node) => node.handle_timeout(now),
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        match self {
            Self::Server(node) => node.poll_output(),
            Self::Station(node) => node.poll_output(),
            Self::Air(node) => {
                let (port, packet) = node.poll()?;
                Some(Output::Send { port, packet })
            }
            Self::Client(node) => node.poll_output(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Server(node) => node.poll_timeout(),
            Self::Station(node) => node.poll_timeout(),
            Self::Air(_) => None,
            Self::Client(node) => node.poll_timeout(),
        }
    }
}
