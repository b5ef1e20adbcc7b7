//! The nodes, the links between their ports, and their counters.

use std::collections::VecDeque;

use channel::{Amount, Counters, Direction};
use thiserror::Error;
use units::{Duration, Instant};

use crate::counters::NodeCounters;
use crate::limits::Busy;
use crate::line::{End, Laid, Line, LinkId};
use crate::node::{Input, Node, NodeId, Port};
use crate::schedule::{Schedule, Slot};

/// Reason why two ports cannot be connected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// A port has a link already.
    #[error("port {port} of node '{node}' has a link already; give this one a port of its own")]
    PortTaken {
        /// Name of the node.
        node: String,
        /// Number of the port.
        port: u16,
    },
    /// A node comes from another simulation.
    #[error("there is no node number {index} in this simulation; connect nodes that it gave out")]
    UnknownNode {
        /// Index of the node.
        index: usize,
    },
}

/// A simulation of nodes and links in virtual time.
///
/// It begins at time zero; nodes and links are added before and between runs.
#[derive(Debug, Clone)]
pub struct Simulation<N: Node> {
    pub(crate) nodes: Vec<Placed<N>>,
    pub(crate) links: Vec<Laid<N::Packet>>,
    pub(crate) actors: Vec<Actor>,
    pub(crate) schedule: Schedule,
    /// Arrivals at this instant, in the order in which they arose.
    pub(crate) arrivals: VecDeque<Arrival<N::Packet>>,
    pub(crate) now: Instant,
    /// Number of events.
    pub(crate) events: u64,
}

/// Owner of a slot in the schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Actor {
    Node(NodeId),
    Link(LinkId),
}

/// A packet that arrives at a node.
#[derive(Debug, Clone)]
pub(crate) struct Arrival<P> {
    pub(crate) node: NodeId,
    pub(crate) input: Input<P>,
}

/// A node with its name, ports and counters.
#[derive(Debug, Clone)]
pub(crate) struct Placed<N> {
    pub(crate) name: String,
    pub(crate) node: N,
    /// The link of each port, and the direction in which the node sends on it.
    pub(crate) ports: Vec<Option<(LinkId, Direction)>>,
    pub(crate) counters: NodeCounters,
    pub(crate) slot: Slot,
    /// Number of its events.
    pub(crate) events: u64,
}

impl<N: Node> Default for Simulation<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Node> Simulation<N> {
    /// Returns an empty simulation at time zero.
    pub fn new() -> Self {
        Self {
            nodes: Vec::new(),
            links: Vec::new(),
            actors: Vec::new(),
            schedule: Schedule::new(),
            arrivals: VecDeque::new(),
            now: Instant::ZERO,
            events: 0,
        }
    }

    /// Adds a node; `name` appears in errors and traces.
    pub fn add(&mut self, name: &str, node: N) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let slot = self.schedule.add();
        self.actors.push(Actor::Node(id));
        self.schedule.set(slot, node.poll_timeout());
        self.nodes.push(Placed {
            name: name.to_owned(),
            node,
            ports: Vec::new(),
            counters: NodeCounters::default(),
            slot,
            events: 0,
        });
        id
    }

    /// Connects two ports by a link; [`Direction::Down`] leads from the first end to the second.
    pub fn connect(
        &mut self,
        first: (NodeId, Port),
        second: (NodeId, Port),
        line: &Line,
    ) -> Result<LinkId, ConnectError> {
        let link = LinkId(self.links.len() as u32);
        let ends = [first, second].map(|(node, port)| End { node, port });
        for end in ends {
            let missing = ConnectError::UnknownNode {
                index: end.node.index(),
            };
            let placed = self.nodes.get(end.node.index()).ok_or(missing)?;
            let port = usize::from(end.port.0);
            if first == second || placed.ports.get(port).is_some_and(Option::is_some) {
                return Err(ConnectError::PortTaken {
                    node: placed.name.clone(),
                    port: end.port.0,
                });
            }
        }
        for (end, direction) in ends.into_iter().zip(Direction::BOTH) {
            let ports = &mut self.nodes[end.node.index()].ports;
            let port = usize::from(end.port.0);
            ports.resize(ports.len().max(port + 1), None);
            ports[port] = Some((link, direction));
        }
        let slot = self.schedule.add();
        self.actors.push(Actor::Link(link));
        let laid = Laid::new(line, ends, slot);
        self.schedule.set(slot, laid.deadline());
        self.links.push(laid);
        Ok(link)
    }

    /// Returns the current time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the number of events: deadlines that came, and packets that arrived.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns a node.
    ///
    /// # Panics
    /// If it comes from another simulation; this holds for the calls below too.
    pub fn node(&self, id: NodeId) -> &N {
        &self.nodes[id.index()].node
    }

    /// Returns the name of a node.
    pub fn name(&self, id: NodeId) -> &str {
        &self.nodes[id.index()].name
    }

    /// Returns every node, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &N)> {
        let numbers = 0..self.nodes.len() as u32;
        numbers
            .map(NodeId)
            .zip(self.nodes.iter().map(|placed| &placed.node))
    }

    /// Returns the counters of a node.
    pub fn node_counters(&self, id: NodeId) -> &NodeCounters {
        &self.nodes[id.index()].counters
    }

    /// Returns the counters of one direction of a link, framing included.
    pub fn link_counters(&self, link: LinkId, direction: Direction) -> &Counters {
        self.links[link.index()].channel.counters(direction)
    }

    /// Returns the packets that waited at a link at its last event.
    pub fn waiting(&self, link: LinkId, direction: Direction) -> Amount {
        self.links[link.index()].channel.waiting(direction)
    }

    /// Returns the part of a time span in which the air of a link is in its good state.
    pub fn good_time(
        &self,
        link: LinkId,
        direction: Direction,
        span: (Instant, Instant),
    ) -> Duration {
        let channel = &self.links[link.index()].channel;
        channel.good_time(direction, span.0, span.1)
    }

    /// Returns the two ends of a link, in the order in which they were connected.
    pub fn ends(&self, link: LinkId) -> [End; 2] {
        let arrives = &self.links[link.index()].arrives;
        [arrives.up, arrives.down]
    }

    /// Returns the link at a port, and the direction in which its node sends there.
    pub fn link_at(&self, end: End) -> Option<(LinkId, Direction)> {
        let placed = self.nodes.get(end.node.index())?;
        placed.ports.get(usize::from(end.port.0)).copied().flatten()
    }

    /// Returns the end of a link that packets of this direction leave.
    pub fn sender(&self, link: LinkId, direction: Direction) -> End {
        self.links[link.index()].arrives[direction.reverse()]
    }

    /// Returns the actor with the most events beyond those in `before`, which has one number for each actor.
    pub(crate) fn busiest(&self, before: &[u64]) -> Busy {
        let earlier = before.iter().copied().chain(std::iter::repeat(0));
        let mut busiest = Busy {
            who: "nobody".into(),
            events: 0,
        };
        for (actor, before) in self.actors.iter().zip(earlier) {
            let events = self.acted(*actor) - before;
            if events > busiest.events {
                let who = self.describe(*actor);
                busiest = Busy { who, events };
            }
        }
        busiest
    }

    /// Returns the number of events of each actor.
    pub(crate) fn activity(&self) -> Vec<u64> {
        let actors = self.actors.iter();
        actors.map(|actor| self.acted(*actor)).collect()
    }

    fn acted(&self, actor: Actor) -> u64 {
        match actor {
            Actor::Node(id) => self.nodes[id.index()].events,
            Actor::Link(id) => self.links[id.index()].events,
        }
    }

    fn describe(&self, actor: Actor) -> String {
        match actor {
            Actor::Node(id) => format!("node '{}'", self.name(id)),
            Actor::Link(id) => {
                let [first, second] = self.ends(id).map(|end| self.name(end.node));
                format!("the link of '{first}' and '{second}'")
            }
        }
    }
}
