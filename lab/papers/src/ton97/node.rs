//! The nodes of the network: the fixed host, the base station, the mobile host.

use machine::Machine;
use simulator::{Input, Output};
use units::Instant;

use super::base::Station;
use super::interface::Event;
use super::mobile::Mobile;
use super::packet::Packet;
use super::radio::Radio;
use super::source::Source;
use crate::router::Router;

/// A node of the network.
#[derive(Debug)]
pub(crate) enum TonNode {
    /// The fixed host.
    Source(Box<Source>),
    /// The base station.
    Station(Box<Station>),
    /// The mobile host.
    Mobile(Box<Mobile>),
    /// A router.
    Router(Router<Packet>),
    /// An end of a hop between radio routers.
    Radio(Box<Radio>),
}

impl Machine for TonNode {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        match self {
            Self::Source(node) => node.handle_input(now, input),
            Self::Station(node) => node.handle_input(now, input),
            Self::Mobile(node) => node.handle_input(now, input),
            Self::Router(node) => {
                if let Input::Packet { packet, .. } = input {
                    node.take(packet);
                }
            }
            Self::Radio(node) => node.handle_input(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Source(node) => node.handle_timeout(now),
            Self::Station(node) => node.handle_timeout(now),
            Self::Mobile(node) => node.handle_timeout(now),
            Self::Router(_) => {}
            Self::Radio(node) => node.handle_timeout(now),
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        match self {
            Self::Source(node) => node.poll_output(),
            Self::Station(node) => node.poll_output(),
            Self::Mobile(node) => node.poll_output(),
            Self::Router(node) => {
                let (port, packet) = node.poll()?;
                Some(Output::Send { port, packet })
            }
            Self::Radio(node) => node.poll_output(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Source(node) => node.poll_timeout(),
            Self::Station(node) => node.poll_timeout(),
            Self::Mobile(node) => node.poll_timeout(),
            Self::Router(_) => None,
            Self::Radio(node) => node.poll_timeout(),
        }
    }
}
