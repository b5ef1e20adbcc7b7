//! The papers' testbed: server, Ethernet, base station, air, mobile hosts.

use std::net::{Ipv4Addr, SocketAddrV4};

use channel::{Direction, DirectionConfig, Link, LinkConfig, QueueBound, Rate};
use experiment::RunError;
use files::{Client, ServerLimits};
use fileserver::Server;
use machine::RandomStream;
use nfs::FileHandle;
use simulator::{Line, LinkId, NodeId, Port, Simulation};
use units::{Duration, Instant};

use super::client::{ClientHost, Parts};
use super::copy::{Copy, Plan, Way, content};
use super::fades::Fades;
use super::internet::Internet;
use super::node::{AIR, LINK, Node, WIRED};
use super::parameters::{LinkLayer, Parameters, Policy, Scheme};
use super::processor::{Processor, ProcessorConfig};
use super::server::ServerHost;
use super::station::Station;
use crate::link_repair::LinkRepair;
use crate::router::Router;

/// Where the server is.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Where the base station is.
pub(super) const STATION: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 254);
/// The port of NFS, and one of a client.
const NFS: u16 = 2_049;
const CLIENT: u16 = 1_023;
/// The first of the base station's ports for hosts on the wire, and of the air's middle for mobile hosts.
const WIRED_HOSTS: u16 = 2;
const MOBILES: u16 = 1;

/// A case with its seed, ready to be built.
#[derive(Debug)]
pub(crate) struct SetUp {
    /// The plan's parameters.
    pub(crate) parameters: Parameters,
    /// The plan's scheme.
    pub(crate) scheme: Scheme,
    /// Of all chance.
    pub(crate) seed: u64,
}

/// The network, at rest.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) simulation: Simulation<Node>,
    pub(crate) server: NodeId,
    pub(crate) station: NodeId,
    pub(crate) air: LinkId,
    /// Mobile hosts, then those on the wire.
    pub(crate) clients: Vec<NodeId>,
}

/// An error of a part as that of the run.
pub(super) fn failed(error: impl std::fmt::Display) -> RunError {
    RunError::Failed(error.to_string())
}

/// A link on which nothing takes time and everything has room.
fn instant() -> Result<Line, RunError> {
    let room = QueueBound::Packets(u64::MAX);
    let each = DirectionConfig::steady(Rate::Unlimited, Duration::ZERO, room);
    Line::wire(each).map_err(failed)
}

/// The address of a client: mobile hosts first, then those on the wire.
fn address(parameters: &Parameters, number: u64) -> Ipv4Addr {
    let (network, host) = match number.checked_sub(parameters.hosts.mobile) {
        None => (1, number),
        Some(wired) => (0, 1 + wired),
    };
    Ipv4Addr::new(10, 0, network, host as u8 + 1)
}

impl SetUp {
    /// The network.
    pub(crate) fn build(&self) -> Result<Network, RunError> {
        let parameters = &self.parameters;
        let mut simulation = Simulation::new();
        let (server, root) = self.server()?;
        let server = simulation.add("server", Node::Server(Box::new(server)));
        let addresses = |range: std::ops::Range<u64>| -> Vec<_> {
            range.map(|number| address(parameters, number)).collect()
        };
        let hosts = &parameters.hosts;
        let mobiles = addresses(0..hosts.mobile);
        let wired = addresses(hosts.mobile..hosts.mobile + hosts.wired);
        let ports = (WIRED_HOSTS..).map(Port);
        let wired: Vec<_> = wired.into_iter().zip(ports).collect();
        let chance = RandomStream::named(self.seed, "nfs/station/processor");
        let processor = Processor::new(parameters.station.clone(), chance);
        let repair = self.scheme.repair();
        let station = Station::new((&mobiles, &wired), repair.as_ref(), processor);
        let station = simulation.add("base", Node::Station(Box::new(station)));
        let wire = parameters.wire.line().map_err(failed)?;
        let connect = |first, second, line: &Line, simulation: &mut Simulation<Node>| {
            simulation.connect(first, second, line).map_err(failed)
        };
        connect((server, WIRED), (station, WIRED), &wire, &mut simulation)?;
        let none = channel::errors::ErrorConfig::default();
        let air = parameters.air.line(&none, self.seed).map_err(failed)?;
        let ways = mobiles.iter().zip((MOBILES..).map(Port));
        let ways = ways.map(|(mobile, port)| (*mobile, port));
        let back = [SERVER, STATION].map(|host| (host, LINK));
        let middle = Node::Air(Router::new(ways.chain(back).collect()));
        let middle = simulation.add("air", middle);
        let air = connect((station, AIR), (middle, LINK), &air, &mut simulation)?;
        let mut clients = Vec::new();
        for number in 0..hosts.mobile + hosts.wired {
            let host = self.client(number, root)?;
            let node = simulation.add(&name(number), Node::Client(Box::new(host)));
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

    /// UDP and IP of a host.
    fn internet(&self, host: SocketAddrV4) -> Internet {
        let hosts = &self.parameters.hosts;
        Internet::new(host, hosts.mtu.get() as usize, hosts.reassembly)
    }

    /// The server's host, and the directory that it exports.
    fn server(&self) -> Result<(ServerHost, FileHandle), RunError> {
        let parameters = &self.parameters;
        let mut server = Server::new(parameters.server(self.seed)).map_err(failed)?;
        if parameters.copy.way == Way::Read {
            let content = content(0, parameters.copy.file.get());
            for number in 0..parameters.hosts.mobile + parameters.hosts.wired {
                server.add_file(&name(number), &content).map_err(failed)?;
            }
        }
        let root = server.root();
        let silence = parameters.server.silence.map(|silence| {
            let from = Instant::ZERO + silence.from;
            [from, from + silence.lasts]
        });
        let internet = self.internet(SocketAddrV4::new(SERVER, NFS));
        Ok((ServerHost::new(server, internet, silence), root))
    }

    /// The host of a client.
    fn client(&self, number: u64, root: FileHandle) -> Result<ClientHost, RunError> {
        let parameters = &self.parameters;
        let is_mobile = number < parameters.hosts.mobile;
        let local = SocketAddrV4::new(address(parameters, number), CLIENT);
        let plan = Plan {
            way: parameters.copy.way,
            length: parameters.copy.file.get(),
            piece: parameters.copy.piece.get() as u32,
            directory: root,
            name: name(number),
        };
        let chance = |what: &str| RandomStream::named(self.seed, &format!("nfs/{number}/{what}"));
        // Hosts on the wire are as they always were.
        let policy = if is_mobile {
            self.scheme.policy
        } else {
            Policy::Exponential
        };
        let rpc = rpc::Client::new(parameters.rpc(policy), chance("calls").next_u64());
        let client = Client::new(
            parameters.client.clone(),
            ServerLimits::default(),
            rpc.map_err(failed)?,
            chance("files").next_u64(),
        );
        let repair = self.scheme.repair().filter(|_| is_mobile);
        let holds = self.scheme.link == LinkLayer::Hold;
        let tells = self.scheme.tells && is_mobile;
        let driver_tells = tells && repair.is_none();
        let timeline = if is_mobile {
            self.timeline(number)?
        } else {
            None
        };
        let config = if is_mobile {
            parameters.mobile.clone()
        } else {
            ProcessorConfig::fast()
        };
        let parts = Parts {
            copy: Copy::new(plan, &name(number)),
            client: client.map_err(failed)?,
            internet: self.internet(local),
            repair: repair.map(LinkRepair::new),
            fades: Fades::new(timeline, holds, driver_tells),
            processor: Processor::new(config, chance("processor")),
        };
        let server = SocketAddrV4::new(SERVER, NFS);
        let start = match number {
            0 => Duration::ZERO,
            _ => chance("start").uniform(Duration::ZERO, parameters.hosts.within),
        };
        let host = ClientHost::new(parts, [local, server], tells);
        Ok(host.starting_at(Instant::ZERO + start))
    }

    /// The states of a mobile host's driver: those of the seed for the first host, others for each of the others.
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

/// The name of a client's host and of its file.
pub(super) fn name(number: u64) -> String {
    format!("client-{number}")
}
