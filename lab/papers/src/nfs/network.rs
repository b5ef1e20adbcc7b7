//! The papers' testbed: server, Ethernet, base station, air, mobile hosts.

use channel::{Direction, DirectionConfig, Link, LinkConfig, QueueBound, Rate};
use experiment::RunError;
use machine::RandomStream;
use nfs::FileHandle;
use simulator::{Line, LinkId, NodeId, Port, Simulation};
use units::Duration;

use super::addresses::{SERVER, STATION};
use super::client::ClientHost;
use super::fades::Fades;
use super::interface::{AIR, LINK, WIRED};
use super::node::NfsNode;
use super::parameters::{LinkLayer, Parameters, Policy, Scheme};
use super::processor::Processor;
use super::site::{Equipment, Site, name};
use super::station::Station;
use crate::failed;
use crate::router::Router;

/// First port of the base station for hosts on the wire, and of the node `air` for mobile hosts.
const WIRED_HOSTS: u16 = 2;
const MOBILES: u16 = 1;

/// A case with its seed, ready to be built.
#[derive(Debug)]
pub(crate) struct SetUp {
    /// The plan's parameters.
    pub(crate) parameters: Parameters,
    /// The plan's scheme.
    pub(crate) scheme: Scheme,
    /// Seed of all randomness.
    pub(crate) seed: u64,
}

/// The network before its first event.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) simulation: Simulation<NfsNode>,
    pub(crate) server: NodeId,
    pub(crate) station: NodeId,
    pub(crate) air: LinkId,
    /// Mobile hosts, then clients on the wire.
    pub(crate) clients: Vec<NodeId>,
}

/// Returns a link without delay and with unlimited rate and queue.
fn instant() -> Result<Line, RunError> {
    let room = QueueBound::Packets(u64::MAX);
    let each = DirectionConfig::steady(Rate::Unlimited, Duration::ZERO, room);
    Line::wire(each).map_err(failed)
}

impl SetUp {
    /// Returns the hosts.
    pub(super) fn site(&self) -> Site<'_> {
        let parameters = &self.parameters;
        Site {
            copy: &parameters.copy,
            client: &parameters.client,
            timeouts: &parameters.timeouts,
            server: &parameters.server,
            hosts: &parameters.hosts,
            seed: self.seed,
        }
    }

    /// Builds the network.
    pub(crate) fn build(&self) -> Result<Network, RunError> {
        let parameters = &self.parameters;
        let mut simulation = Simulation::new();
        let site = self.site();
        let (server, root) = site.server()?;
        let server = simulation.add("server", NfsNode::Server(Box::new(server)));
        let addresses = |range: std::ops::Range<u64>| -> Vec<_> {
            range.map(|number| site.address(number)).collect()
        };
        let hosts = &parameters.hosts;
        let mobiles = addresses(0..hosts.mobile);
        let wired = addresses(hosts.mobile..hosts.mobile + hosts.wired);
        let ports = (WIRED_HOSTS..).map(Port);
        let wired: Vec<_> = wired.into_iter().zip(ports).collect();
        let chance = RandomStream::named(self.seed, "nfs/station/processor");
        let processor = Processor::new(parameters.station.clone(), chance);
        let repair = self.scheme.repair();
        let station = Station::new(&mobiles, &wired, repair.as_ref(), processor);
        let station = simulation.add("base", NfsNode::Station(Box::new(station)));
        let wire = parameters.wire.line().map_err(failed)?;
        let connect = |first, second, line: &Line, simulation: &mut Simulation<NfsNode>| {
            simulation.connect(first, second, line).map_err(failed)
        };
        connect((server, WIRED), (station, WIRED), &wire, &mut simulation)?;
        let none = channel::errors::ErrorConfig::default();
        let air = parameters.air.line(&none, self.seed).map_err(failed)?;
        let ways = mobiles.iter().zip((MOBILES..).map(Port));
        let ways = ways.map(|(mobile, port)| (*mobile, port));
        let back = [SERVER, STATION].map(|host| (host, LINK));
        let middle = NfsNode::Air(Router::new(ways.chain(back).collect()));
        let middle = simulation.add("air", middle);
        let air = connect((station, AIR), (middle, LINK), &air, &mut simulation)?;
        let mut clients = Vec::new();
        for number in 0..hosts.mobile + hosts.wired {
            let host = self.client(number, root)?;
            let node = simulation.add(&name(number), NfsNode::Client(Box::new(host)));
            let (end, line) = match number.checked_sub(hosts.mobile) {
                None => ((middle, Port(MOBILES + number as u16)), instant()?),
                Some(wired) => ((station, Port(WIRED_HOSTS + wired as u16)), instant()?),
            };
            connect(end, (node, LINK), &line, &mut simulation)?;
            clients.push(node);
        }
        Ok(Network {
            simulation,
            server,
            station,
            air,
            clients,
        })
    }

    /// Returns the host of a client.
    fn client(&self, number: u64, root: FileHandle) -> Result<ClientHost, RunError> {
        let site = self.site();
        if number >= self.parameters.hosts.mobile {
            // Hosts on the wire have the unchanged client in every scheme.
            return site.client(number, root, Equipment::plain(Policy::Exponential));
        }
        let scheme = &self.scheme;
        let repair = scheme.repair();
        let holds = scheme.link == LinkLayer::Hold;
        let driver_tells = scheme.tells && repair.is_none();
        let equipment = Equipment {
            policy: scheme.policy,
            repair,
            fades: Fades::new(self.timeline(number)?, holds, driver_tells),
            processor: self.parameters.mobile.clone(),
            tells: scheme.tells,
        };
        site.client(number, root, equipment)
    }

    /// Returns the states of a mobile host's driver: from the seed for the first host, from derived seeds for the
    /// others.
    fn timeline(&self, number: u64) -> Result<Option<channel::errors::Timeline>, RunError> {
        let whose = match number {
            0 => self.seed,
            _ => RandomStream::named(self.seed, &format!("nfs/{number}/fades")).next_u64(),
        };
        let room = QueueBound::Packets(u64::MAX);
        let config = LinkConfig {
            each: Some(DirectionConfig::steady(
                Rate::Unlimited,
                Duration::ZERO,
                room,
            )),
            errors: Some(self.parameters.errors.clone()),
            ..LinkConfig::default()
        };
        let refuse = |_: &str| Err("a plan names no files".to_owned());
        let link = Link::from_config(config, "driver", &refuse).map_err(failed)?;
        Ok(link.timeline(Direction::Down, whose))
    }
}
