//! The network: fixed hosts, wire, base station, one air, mobile hosts.

use std::net::{Ipv4Addr, SocketAddrV4};

use channel::CsmaAir;
use experiment::{Case, PlanError, RunError};
use machine::RandomStream;
use simulator::{NodeId, Simulation};
use tcp::{Connection, Endpoint};
use units::{Instant, SeqNumber};

use super::cell::Cell;
use super::fixed::FixedHosts;
use super::flow::{Delays, FlowSender};
use super::interface::WIRED;
use super::mobile::Mobile;
use super::node::CsdpNode;
use super::opportunity::Channels;
use super::parameters::Parameters;
use super::receiver::{Receiver, Role};
use super::station::Station;
use crate::failed;

/// Ports of the fixed and the mobile end of each connection; each has hosts of its own, which differ in the last number
/// of their addresses.
const PORTS: [u16; 2] = [5_001, 5_002];

/// A case with its seed, ready to be built.
#[derive(Debug, Clone)]
pub(crate) struct SetUp {
    /// The plan's parameters.
    pub(crate) parameters: Parameters,
    /// The plan's scheme: the policy of the base station.
    pub(crate) scheme: scheduler::Config,
    /// Seed of all randomness.
    pub(crate) seed: u64,
}

/// The network before its first event.
pub(crate) struct Network {
    pub(crate) simulation: Simulation<CsdpNode>,
    pub(crate) fixed: NodeId,
    pub(crate) cell: NodeId,
}

impl SetUp {
    /// Reads and checks a case.
    pub(crate) fn read(case: &Case, seed: u64) -> Result<Self, PlanError> {
        let parameters = Parameters::read(case)?;
        let scheme: scheduler::Config = case.scheme()?;
        scheme
            .check()
            .map_err(|error| case.wrong_scheme("monitor", error))?;
        Ok(Self {
            parameters,
            scheme,
            seed,
        })
    }

    /// Builds the network.
    pub(crate) fn build(&self) -> Result<Network, RunError> {
        let mut simulation = Simulation::new();
        let fixed = simulation.add("fixed", CsdpNode::Fixed(Box::new(self.fixed()?)));
        let cell = simulation.add("cell", CsdpNode::Cell(Box::new(self.cell()?)));
        let wire = self.parameters.wire.line().map_err(failed)?;
        simulation
            .connect((fixed, WIRED), (cell, WIRED), &wire)
            .map_err(failed)?;
        Ok(Network {
            simulation,
            fixed,
            cell,
        })
    }

    fn fixed(&self) -> Result<FixedHosts, RunError> {
        let endpoints = (0..self.parameters.connections).map(|number| {
            let [connection, _] = connections(number);
            let config = self.parameters.host("fixed", number, self.seed);
            Endpoint::new(connection, config).map_err(failed)
        });
        let endpoints = endpoints.collect::<Result<_, _>>()?;
        let begin = Instant::ZERO + self.parameters.begin;
        let transfer = self.parameters.transfer.get();
        let talkers = self.parameters.flows().zip(0..).map(|(flow, number)| {
            let name = format!("csdp96/flow/{number}");
            FlowSender::new(flow, RandomStream::named(self.seed, &name))
        });
        let talkers = talkers.collect();
        Ok(FixedHosts::new(endpoints, (begin, transfer), talkers))
    }

    fn cell(&self) -> Result<Cell<Receiver>, RunError> {
        let (parameters, seed) = (&self.parameters, self.seed);
        let (driver, count) = (parameters.driver, parameters.connections);
        let errors = parameters.channels();
        let air = CsmaAir::new(parameters.air, &errors, seed);
        let channels = Channels::new(&errors, seed);
        let queues = u16::try_from(errors.len()).unwrap_or(u16::MAX);
        let station = Station::new(&self.scheme, driver, (channels, queues), seed);
        let mobiles = (0..count).map(|number| {
            let [_, connection] = connections(number);
            let config = parameters.host("mobile", number, seed);
            let endpoint = Endpoint::listening(connection, config).map_err(failed)?;
            let role = Role::Connection {
                endpoint: Box::new(endpoint),
                missing: parameters.transfer.get(),
            };
            let uplink = parameters.uplink.map(|flow| {
                let name = format!("csdp96/uplink/{number}");
                FlowSender::new(flow, RandomStream::named(seed, &name))
            });
            let host = Receiver::new(number, role).with_uplink(uplink);
            Ok(Mobile::new(number, host, driver))
        });
        let mut mobiles = mobiles.collect::<Result<Vec<_>, RunError>>()?;
        let flows = (count..).zip(parameters.flows());
        let flows = flows.map(|(number, _)| (number, Role::Flow(Delays::default())));
        mobiles.extend(flows.map(|(number, role)| {
            let host = Receiver::new(number, role);
            Mobile::new(number, host, driver)
        }));
        Ok(Cell::new(air, station, mobiles))
    }
}

/// Returns the connection of this number as its fixed and its mobile host see it.
fn connections(number: u16) -> [Connection; 2] {
    let [high, low] = number.to_be_bytes();
    let [fixed, mobile] = [(1, PORTS[0]), (2, PORTS[1])]
        .map(|(net, port)| SocketAddrV4::new(Ipv4Addr::new(10, net, high, low), port));
    let connection = |local, remote, initial| Connection {
        local,
        remote,
        initial_sequence: SeqNumber(initial),
    };
    [
        connection(fixed, mobile, 1_000),
        connection(mobile, fixed, 3_000),
    ]
}
