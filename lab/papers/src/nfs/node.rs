//! The nodes of the network: the host of the server, the base station, the air, the hosts of clients.

use machine::Machine;
use simulator::{Input, Output};
use units::Instant;

use super::client::ClientHost;
use super::interface::Event;
use super::packet::Packet;
use super::server::ServerHost;
use super::station::Station;
use crate::router::Router;

/// A node of the network.
#[derive(Debug)]
pub(crate) enum NfsNode {
    /// The host of the server.
    Server(Box<ServerHost>),
    /// The base station.
    Station(Box<Station>),
    /// The end of one air that several hosts share: a packet crosses it once, and goes to one of them.
    Air(Router<Packet>),
    /// The host of a client.
    Client(Box<ClientHost>),
}

impl Machine for NfsNode {
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
