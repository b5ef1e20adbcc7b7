//! The network of the comparison: fixed host, wire, base station, air, mobile host.

use std::net::SocketAddrV4;
use std::ops::ControlFlow;

use channel::Direction;
use experiment::RunError;
use machine::RandomStream;
use mtcp::Addresses;
use simulator::{Ending, Limits, LinkId, NodeId, Observer, OnEvent, Simulation};
use snoop::{Agent, ExplicitLoss, MobileConfig};
use tcp::{Connection, Endpoint, Policy};
use units::{Bytes, Instant, SeqNumber};

use super::application::Application;
use super::base::{Station, Work};
use super::driver::Driver;
use super::end::{End, Mtcp};
use super::interface::{AIR, Event, FIXED, MOBILE, WIRED};
use super::mobile::{LinkLayer, Mobile};
use super::node::TonNode;
use super::parameters::{Base, MOBILE_NAME, Parameters, Scheme};
use super::repair::Repair;
use super::source::Source;
use super::split::Split;
use crate::failed;

/// A case with its seed, ready to be built.
#[derive(Debug, Clone)]
pub(crate) struct SetUp {
    /// The plan's parameters.
    pub(crate) parameters: Parameters,
    /// The plan's scheme.
    pub(crate) scheme: Scheme,
    /// Seed of all randomness.
    pub(crate) seed: u64,
}

/// The network before its first event.
pub(crate) struct Network<N: simulator::Node> {
    pub(crate) simulation: Simulation<N>,
    pub(crate) source: NodeId,
    pub(crate) station: NodeId,
    pub(crate) mobile: NodeId,
    pub(crate) hop: LinkId,
    /// Observer that counts the packets that wait for the air, for a base station that needs the number.
    driver: Driver,
}

impl<N: simulator::Node> Network<N> {
    /// Runs it with an observer.
    pub(crate) fn run(
        &mut self,
        limits: Limits,
        observer: &mut impl Observer<N>,
    ) -> Result<Ending, RunError> {
        let observers = &mut (observer, &mut self.driver);
        self.simulation.run(limits, observers).map_err(failed)
    }
}

impl Network<TonNode> {
    /// Returns fixed host, base station and mobile host in their current state.
    pub(crate) fn nodes(&self) -> Result<(&Source, &Station, &Mobile), RunError> {
        hosts([self.source, self.station, self.mobile].map(|id| self.simulation.node(id)))
    }
}

/// Returns fixed host, base station and mobile host of the comparison.
pub(super) fn hosts(nodes: [&TonNode; 3]) -> Result<(&Source, &Station, &Mobile), RunError> {
    match nodes {
        [
            TonNode::Source(source),
            TonNode::Station(station),
            TonNode::Mobile(mobile),
        ] => Ok((source, station, mobile)),
        _ => Err(failed("the network is not the comparison's")),
    }
}

impl SetUp {
    /// Builds the network, with every node `wrapped`.
    pub(crate) fn build<N: simulator::Node>(
        &self,
        wrapped: impl Fn(TonNode) -> N,
    ) -> Result<Network<N>, RunError> {
        let mut simulation = Simulation::new();
        let mut add = |name, node| simulation.add(name, wrapped(node));
        let source = add("fixed", TonNode::Source(Box::new(self.source()?)));
        let station = Station::new(self.work()?, self.parameters.repairs_ahead);
        let waiting = station.waiting();
        let station = add("base", TonNode::Station(Box::new(station)));
        let mobile = add("mobile", TonNode::Mobile(Box::new(self.mobile()?)));
        let lines = (self.parameters.wire(), self.parameters.hop(self.seed));
        let (wire, hop) = (lines.0.map_err(failed)?, lines.1.map_err(failed)?);
        let mut connect = |first, second, line| simulation.connect(first, second, line);
        connect((source, WIRED), (station, WIRED), &wire).map_err(failed)?;
        let hop = connect((station, AIR), (mobile, AIR), &hop).map_err(failed)?;
        let mut driver = Driver::default();
        if let Some(waiting) = waiting {
            driver.watch((hop, Direction::Down), waiting);
        }
        Ok(Network {
            simulation,
            source,
            station,
            mobile,
            hop,
            driver,
        })
    }

    /// Returns the network in its state at this moment, or at the end of the transfer if that comes first.
    pub(crate) fn at(&self, moment: Instant) -> Result<Network<TonNode>, RunError> {
        let mut network = self.build(|node| node)?;
        let mut end = OnEvent(|_: Instant, _, _: &Event| ControlFlow::Break(()));
        network.run(Limits::until(moment), &mut end)?;
        Ok(network)
    }

    /// Returns the fixed host.
    pub(super) fn source(&self) -> Result<Source, RunError> {
        let config = self.host("fixed", self.scheme.sender);
        let endpoint = Endpoint::new(connection(FIXED, MOBILE, 1_000), config).map_err(failed)?;
        let (down, up) = self.shares();
        Ok(Source::with(endpoint, Application::new(down, up)))
    }

    /// Returns the mobile host.
    pub(super) fn mobile(&self) -> Result<Mobile, RunError> {
        let end: End = if let Some(wide) = self.scheme.base.mtcp_profile() {
            self.mtcp(MOBILE_NAME, wide)?.into()
        } else {
            let mut config = self.host(MOBILE_NAME, self.scheme.towards_mobile());
            config.feedback.cause |= self.scheme.smart;
            let connection = connection(MOBILE, FIXED, 3_000);
            let endpoint = Endpoint::listening(connection, config);
            endpoint.map_err(failed)?.into()
        };
        let (down, up) = self.shares();
        let mobile = Mobile::with(end, self.below(), Application::new(up, down));
        Ok(match self.scheme.base {
            Base::Mark => mobile.unaware(),
            _ => mobile,
        })
    }

    /// Returns the bytes that the fixed host sends, and those that the mobile host sends.
    fn shares(&self) -> (u64, u64) {
        let direction = self.parameters.direction;
        let share = |sends: bool| {
            if sends {
                self.parameters.transfer.get()
            } else {
                0
            }
        };
        (share(direction.is_down()), share(direction.is_up()))
    }

    /// Returns the layer below the mobile host's TCP.
    fn below(&self) -> Option<LinkLayer> {
        let parameters = &self.parameters;
        match self.scheme.base {
            Base::Arq => Some(LinkLayer::Arq(Box::new(Repair::new()))),
            Base::Snoop if parameters.direction.is_up() => {
                let config = MobileConfig {
                    shield: self.scheme.tcp_aware,
                    limits: parameters.snoop.limits.clone(),
                };
                Some(LinkLayer::Snoop {
                    agent: Box::new(snoop::Mobile::new(config)),
                    repairs_ahead: parameters.repairs_ahead,
                })
            }
            Base::Snoop
            | Base::Forward
            | Base::Split
            | Base::Mark
            | Base::Mtcp
            | Base::MtcpWide => None,
        }
    }

    /// Returns the work of the base station.
    pub(super) fn work(&self) -> Result<Work, RunError> {
        let agent = |config| Work::Snoop(Box::new(Agent::new(config)));
        Ok(match (self.scheme.base, self.scheme.hop) {
            (Base::Split, hop) => Work::Split(Box::new(self.split(hop.unwrap_or_default())?)),
            (Base::Mtcp, _) => Work::Split(Box::new(self.split_to_mtcp(false)?)),
            (Base::MtcpWide, _) => Work::Split(Box::new(self.split_to_mtcp(true)?)),
            (Base::Forward, _) => Work::Forward,
            (Base::Snoop, _) => agent(self.snoop()),
            (Base::Mark, _) => agent(snoop::Config {
                limits: self.parameters.snoop.limits.clone(),
                ..snoop::Config::explicit_loss(self.scheme.explicit_loss())
            }),
            (Base::Arq, _) => Work::Arq(Box::new(Repair::new())),
        })
    }

    /// Returns the configuration of the snoop agent. For data from the mobile host it requests retransmissions, and
    /// marks the duplicate acknowledgements that its other half then suppresses.
    fn snoop(&self) -> snoop::Config {
        let scheme = &self.scheme;
        let asks = self.parameters.direction.is_up();
        let mut config = snoop::Config {
            tcp_aware: scheme.tcp_aware,
            smart: scheme.smart,
            ..self.parameters.snoop.clone()
        };
        if asks {
            config.negative_acknowledgments = true;
        }
        if asks && scheme.tcp_aware {
            config.explicit_loss = ExplicitLoss::Next;
        }
        config
    }

    /// Returns a split into two TCP connections.
    fn split(&self, hop: Policy) -> Result<Split, RunError> {
        let hop = Endpoint::new(connection(FIXED, MOBILE, 4_000), self.joined(hop));
        self.split_to(hop.map_err(failed)?)
    }

    /// Returns a split into a TCP and an MTCP connection.
    fn split_to_mtcp(&self, wide: bool) -> Result<Split, RunError> {
        let mtcp = self.mtcp("base", wide)?;
        self.split_to(match self.parameters.grants {
            Some(every) if wide => mtcp.granted(every),
            _ => mtcp,
        })
    }

    fn split_to(&self, hop: impl Into<End>) -> Result<Split, RunError> {
        let wired = connection(MOBILE, FIXED, 2_000);
        let wired = Endpoint::listening(wired, self.joined(self.scheme.sender));
        let config = &self.parameters.redirector;
        Ok(Split::new(wired.map_err(failed)?, hop, config))
    }

    /// Returns the TCP of a base station that splits connections: data pass from one connection to the other by
    /// pointer, so no writer waits for room.
    fn joined(&self, policy: Policy) -> tcp::Config {
        tcp::Config {
            send_low_water: Bytes::ZERO,
            ..self.host("base", policy)
        }
    }

    /// Returns an end of MTCP.
    fn mtcp(&self, name: &str, wide: bool) -> Result<Mtcp, RunError> {
        let config = self.parameters.mtcp(name, wide, self.seed);
        let random = RandomStream::named(self.seed, &format!("ton97/mtcp/{name}"));
        let endpoint = mtcp::Endpoint::new(config, random).map_err(failed)?;
        let addresses = Addresses::new(MOBILE.into(), FIXED.into());
        let addresses = addresses.ok_or_else(|| failed("the hosts have addresses of two kinds"))?;
        Ok(Mtcp::new(endpoint, addresses))
    }

    /// Returns the TCP of a host.
    pub(super) fn host(&self, name: &str, policy: Policy) -> tcp::Config {
        self.parameters.host(name, policy, self.seed)
    }
}

/// Returns the ends of a connection, as `local` sees them.
pub(super) fn connection(local: SocketAddrV4, remote: SocketAddrV4, initial: u32) -> Connection {
    Connection {
        local,
        remote,
        initial_sequence: SeqNumber(initial),
    }
}
