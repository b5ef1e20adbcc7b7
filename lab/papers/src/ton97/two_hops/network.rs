//! Fixed host, wire, a radio, a hop, a router of two radios, a hop, a radio, mobile host; rivals cross the second hop.

use std::rc::Rc;

use channel::Direction;
use channel::errors::ErrorConfig;
use experiment::RunError;
use simulator::{Line, LinkId, NodeId, Port, Simulation};
use units::Instant;

use super::super::base::{Station, Work};
use super::super::driver::{Driver, Waiting};
use super::super::interface::{AIR, FIXED, MOBILE, WIRED};
use super::super::judge::{Basis, Judge};
use super::super::losses::Losses;
use super::super::network::SetUp;
use super::super::node::TonNode;
use super::super::parameters::{Base, Scheme};
use super::super::radio::{QueueReports, Radio};
use super::super::rival::{self, Rival, ethernet};
use super::plan::{Marking, Plan};
use crate::failed;
use crate::router::Router;

/// Port of a router that leads to the next one, and the first of those that lead to rivals.
const ONWARD: Port = Port(1);
const RIVALS: u16 = 2;

/// An end of a link.
type At = (NodeId, Port);

/// The network before its first event.
pub(super) struct Hops {
    pub(super) simulation: Simulation<TonNode>,
    pub(super) source: NodeId,
    pub(super) rivals: Vec<NodeId>,
    pub(super) losses: Losses,
    driver: Driver,
}

/// A hop with its two ends.
struct Hop {
    near: NodeId,
    far: NodeId,
    air: LinkId,
}

/// The network during its construction.
struct Site<'a> {
    plan: &'a Plan,
    simulation: Simulation<TonNode>,
    driver: Driver,
}

impl Hops {
    pub(super) fn build(plan: &Plan) -> Result<Self, RunError> {
        let mut site = Site {
            plan,
            simulation: Simulation::new(),
            driver: Driver::default(),
        };
        let source = TonNode::Source(Box::new(plan.ends.source()?));
        let source = site.simulation.add("fixed", source);
        let mobile = TonNode::Mobile(Box::new(plain(&plan.ends).mobile()?));
        let mobile = site.simulation.add("mobile", mobile);
        let first = site.hop("first", &plan.config.first)?;
        let second = site.hop("second", &plan.config.second)?;
        let routers = site.routers();
        let [middle, last] = routers;
        let wire = plan.ends.parameters.wire().map_err(failed)?;
        let (inside, ethernet) = (Plan::inside()?, ethernet()?);
        let wired = site.connect((source, WIRED), (first.near, WIRED), &wire)?;
        let own = vec![
            wired,
            first.air,
            site.connect((first.far, WIRED), (middle, WIRED), &inside)?,
            site.connect((middle, ONWARD), (second.near, WIRED), &inside)?,
            second.air,
            site.connect((second.far, WIRED), (last, WIRED), &inside)?,
            site.connect((last, ONWARD), (mobile, AIR), &ethernet)?,
        ];
        let rivals = site.rivals(routers, &ethernet)?;
        Ok(Self {
            simulation: site.simulation,
            source,
            rivals,
            losses: Losses::new(source, wired, own),
            driver: site.driver,
        })
    }

    /// Runs until all data have arrived; returns the bytes transferred.
    pub(super) fn finish(&mut self, plan: &Plan) -> Result<u64, RunError> {
        let (simulation, rivals) = (&mut self.simulation, &self.rivals);
        let mut observers = (&mut self.losses, &mut self.driver);
        rival::finish(simulation, &plan.ends, rivals, &mut observers)
    }
}

impl Site<'_> {
    fn connect(&mut self, first: At, second: At, line: &Line) -> Result<LinkId, RunError> {
        self.simulation.connect(first, second, line).map_err(failed)
    }

    /// Adds a hop with the nodes at its ends.
    fn hop(&mut self, name: &str, errors: &ErrorConfig) -> Result<Hop, RunError> {
        let line = self.plan.hop(name, errors).map_err(failed)?;
        let waiting = [Waiting::default(), Waiting::default()];
        let near = self.plan.end(true, &waiting[0])?;
        let near = self.simulation.add(&format!("{name} near"), near);
        let far = self.plan.end(false, &waiting[1])?;
        let far = self.simulation.add(&format!("{name} far"), far);
        let air = self.connect((near, AIR), (far, AIR), &line)?;
        for (direction, waiting) in Direction::BOTH.into_iter().zip(waiting) {
            self.driver.watch((air, direction), waiting);
        }
        Ok(Hop { near, far, air })
    }

    /// Adds the routers before and behind the second hop.
    fn routers(&mut self) -> [NodeId; 2] {
        let mut ways = [(); 2].map(|()| vec![(FIXED, WIRED), (MOBILE, ONWARD)]);
        for rival in self.plan.rivals() {
            ways[0].extend([(rival.local(), port(rival)), (rival.remote(), ONWARD)]);
            ways[1].extend([(rival.local(), WIRED), (rival.remote(), port(rival))]);
        }
        let [middle, last] = ways.map(|ways| TonNode::Router(Router::new(ways)));
        [
            self.simulation.add("middle", middle),
            self.simulation.add("last", last),
        ]
    }

    /// Adds the hosts that send across the second hop.
    fn rivals(&mut self, routers: [NodeId; 2], line: &Line) -> Result<Vec<NodeId>, RunError> {
        let mut hosts = Vec::new();
        for rival in self.plan.rivals() {
            let host = rival.source(&self.plan.ends)?;
            let host = self.simulation.add("rival", host);
            let sink = rival.sink(&self.plan.ends)?;
            let sink = self.simulation.add("sink", sink);
            self.connect((host, WIRED), (routers[0], port(rival)), line)?;
            self.connect((sink, AIR), (routers[1], port(rival)), line)?;
            hosts.push(host);
        }
        Ok(hosts)
    }
}

/// Returns the port of both routers that leads to a rival.
fn port(rival: Rival) -> Port {
    Port(RIVALS + u16::from(rival.index))
}

/// Returns the same hosts without a layer below TCP, which is the radios' task here.
fn plain(ends: &SetUp) -> SetUp {
    SetUp {
        parameters: ends.parameters.clone(),
        scheme: Scheme {
            base: Base::Forward,
            ..ends.scheme.clone()
        },
        seed: ends.seed,
    }
}

impl Plan {
    fn rivals(&self) -> impl Iterator<Item = Rival> + use<> {
        (0..self.config.rivals).map(|index| Rival { index })
    }

    /// Returns the node at an end of a hop; `near` is true for the end towards the fixed host.
    fn end(&self, near: bool, waiting: &Waiting) -> Result<TonNode, RunError> {
        let Some(marking) = self.marks else {
            let work = match self.ends.scheme.base {
                Base::Snoop if !near => Work::Forward,
                _ => self.ends.work()?,
            };
            let ahead = self.ends.parameters.repairs_ahead;
            return Ok(TonNode::Station(Box::new(Station::new(work, ahead))));
        };
        let (basis, tells) = match marking {
            Marking::Heard => (Basis::Heard, false),
            Marking::Exchanged => (Basis::Exchanged(self.threshold), true),
            Marking::All => (Basis::All, false),
        };
        let marks = self
            .ends
            .host("mobile", self.ends.scheme.sender)
            .feedback
            .marks;
        let telling = tells.then(|| QueueReports {
            every: self.config.exchange,
            waiting: Rc::clone(waiting),
            next: Instant::ZERO + self.config.exchange,
        });
        let radio = Radio::new(Judge::new(basis, marks), telling);
        Ok(TonNode::Radio(Box::new(radio)))
    }
}
