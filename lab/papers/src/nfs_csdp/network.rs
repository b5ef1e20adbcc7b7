//! The network: server, wire, base station, one air, mobile hosts with clients.

use channel::CsmaAir;
use experiment::{Case, PlanError, RunError};
use machine::Machine;
use simulator::{Input, NodeId, Output, Simulation};
use units::Instant;

use super::parameters::Parameters;
use crate::csdp96::cell::Cell;
use crate::csdp96::interface::WIRED;
use crate::csdp96::mobile::Mobile;
use crate::csdp96::opportunity::Channels;
use crate::csdp96::packet::MobilePacket;
use crate::csdp96::station::Station;
use crate::failed;
use crate::nfs::addresses::mobile;
use crate::nfs::client::ClientHost;
use crate::nfs::interface::Event;
use crate::nfs::packet::Packet;
use crate::nfs::server::ServerHost;
use crate::nfs::site::Equipment;

/// A case with its seed, ready to be built.
#[derive(Debug)]
pub(super) struct SetUp {
    /// The plan's parameters.
    pub(super) parameters: Parameters,
    /// The plan's scheme: the policy of the base station.
    pub(super) scheme: scheduler::Config,
    /// Seed of all randomness.
    pub(super) seed: u64,
}

/// The network before its first event.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) simulation: Simulation<CopyNode>,
    server: NodeId,
    cell: NodeId,
}

/// A node of the network.
#[derive(Debug)]
pub(super) enum CopyNode {
    /// The host of the server.
    Server(Box<ServerHost>),
    /// The air with its stations.
    Cell(Box<Cell<ClientHost>>),
}

impl MobilePacket for Packet {
    fn mobile(&self) -> Option<u16> {
        self.hosts().into_iter().find_map(mobile)
    }
}

impl SetUp {
    /// Reads and checks a case.
    pub(super) fn read(case: &Case, seed: u64) -> Result<Self, PlanError> {
        let parameters = Parameters::read(case)?;
        let scheme: scheduler::Config = case.scheme()?;
        let checked = scheme.check();
        checked.map_err(|error| case.wrong_scheme("monitor", error))?;
        Ok(Self {
            parameters,
            scheme,
            seed,
        })
    }

    /// Builds the network.
    pub(super) fn build(&self) -> Result<Network, RunError> {
        let (parameters, seed) = (&self.parameters, self.seed);
        let site = parameters.site(seed);
        let (server, root) = site.server()?;
        let count = u16::try_from(parameters.hosts.mobile).map_err(failed)?;
        let mobiles = (0..count).map(|number| {
            let equipment = Equipment::plain(parameters.policy);
            let host = site.client(u64::from(number), root, equipment)?;
            Ok(Mobile::new(number, host, parameters.driver))
        });
        let mobiles = mobiles.collect::<Result<Vec<_>, RunError>>()?;
        let errors = vec![parameters.errors.clone(); mobiles.len()];
        let air = CsmaAir::new(parameters.air, &errors, seed);
        let channels = (Channels::new(&errors, seed), count);
        let station = Station::new(&self.scheme, parameters.driver, channels, seed);
        let mut simulation = Simulation::new();
        let server = simulation.add("server", CopyNode::Server(Box::new(server)));
        let cell = CopyNode::Cell(Box::new(Cell::new(air, station, mobiles)));
        let cell = simulation.add("cell", cell);
        let wire = parameters.wire.line().map_err(failed)?;
        let laid = simulation.connect((server, WIRED), (cell, WIRED), &wire);
        laid.map_err(failed)?;
        Ok(Network {
            simulation,
            server,
            cell,
        })
    }
}

impl Network {
    /// Returns the host of the server.
    pub(super) fn server(&self) -> Result<&ServerHost, RunError> {
        match self.simulation.node(self.server) {
            CopyNode::Server(server) => Ok(server),
            CopyNode::Cell(_) => Err(RunError::Failed("the server is missing".into())),
        }
    }

    /// Returns the air with its stations.
    pub(super) fn cell(&self) -> Result<&Cell<ClientHost>, RunError> {
        match self.simulation.node(self.cell) {
            CopyNode::Cell(cell) => Ok(cell),
            CopyNode::Server(_) => Err(RunError::Failed("the air is missing".into())),
        }
    }
}

impl Machine for CopyNode {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        match self {
            Self::Server(node) => node.handle_input(now, input),
            Self::Cell(node) => node.handle_input(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Server(node) => node.handle_timeout(now),
            Self::Cell(node) => node.handle_timeout(now),
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        match self {
            Self::Server(node) => node.poll_output(),
            Self::Cell(node) => node.poll_output(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Server(node) => node.poll_timeout(),
            Self::Cell(node) => node.poll_timeout(),
        }
    }
}
