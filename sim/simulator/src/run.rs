//! The event loop.

use std::ops::ControlFlow;

use channel::{Cause, Direction};
use machine::Machine;

use crate::limits::{Ending, Limits, RunError};
use crate::line::LinkId;
use crate::node::{Input, Node, NodeId, Output, Port};
use crate::observer::{Loss, Moment, Observer, Sighting};
use crate::packet::Packet;
use crate::simulation::{Actor, Arrival, Simulation};

impl<N: Node> Simulation<N> {
    /// Runs until a limit is reached, no event is left, or `observer` stops it. A further run continues from there.
    pub fn run(
        &mut self,
        limits: Limits,
        observer: &mut impl Observer<N>,
    ) -> Result<Ending, RunError> {
        Run::new(self, observer).until(limits)
    }
}

/// A run of a simulation with its observer.
struct Run<'a, N: Node, O> {
    simulation: &'a mut Simulation<N>,
    observer: &'a mut O,
    stopped: bool,
}

impl<'a, N: Node, O: Observer<N>> Run<'a, N, O> {
    fn new(simulation: &'a mut Simulation<N>, observer: &'a mut O) -> Self {
        Self {
            simulation,
            observer,
            stopped: false,
        }
    }

    fn until(&mut self, limits: Limits) -> Result<Ending, RunError> {
        let mut stillness = Stillness::new(self.simulation.events);
        while !self.stopped {
            let Some((at, slot)) = self.simulation.schedule.first() else {
                return Ok(Ending::Idle);
            };
            if at > limits.until {
                self.simulation.now = limits.until.max(self.simulation.now);
                return Ok(Ending::Time);
            }
            if at > self.simulation.now {
                self.simulation.now = at;
                stillness = Stillness::new(self.simulation.events);
            }
            self.simulation.schedule.spend(slot);
            match self.simulation.actors[slot as usize] {
                Actor::Node(id) => self.wake_node(id)?,
                Actor::Link(id) => self.wake_link(id),
            }
            self.check(limits, &mut stillness)?;
            while let Some(arrival) = self.simulation.arrivals.pop_front() {
                self.arrive(arrival)?;
                self.check(limits, &mut stillness)?;
            }
        }
        Ok(Ending::Stopped)
    }

    /// Counts an event; returns an error if there are too many.
    fn check(&mut self, limits: Limits, stillness: &mut Stillness) -> Result<(), RunError> {
        let simulation = &mut *self.simulation;
        simulation.events += 1;
        if simulation.events > limits.events {
            return Err(RunError::TooManyEvents {
                at: simulation.now,
                events: limits.events,
                busiest: simulation.busiest(&[]),
            });
        }
        let still = simulation.events - stillness.since;
        if still == limits.still / 2 {
            stillness.activity = simulation.activity();
        }
        if still < limits.still {
            return Ok(());
        }
        Err(RunError::Livelock {
            at: simulation.now,
            events: limits.still,
            busiest: simulation.busiest(&stillness.activity),
        })
    }

    fn wake_node(&mut self, id: NodeId) -> Result<(), RunError> {
        let placed = &mut self.simulation.nodes[id.index()];
        placed.events += 1;
        placed.node.handle_timeout(self.simulation.now);
        self.drain_node(id)
    }

    fn wake_link(&mut self, id: LinkId) {
        let link = &mut self.simulation.links[id.index()];
        link.events += 1;
        link.channel.handle_timeout(self.simulation.now);
        self.drain_link(id);
    }

    fn arrive(&mut self, arrival: Arrival<N::Packet>) -> Result<(), RunError> {
        let Arrival { node, input } = arrival;
        let placed = &mut self.simulation.nodes[node.index()];
        placed.events += 1;
        match &input {
            Input::Packet { packet, .. } => placed.counters.received.add(packet.length()),
            Input::Corrupted { packet, .. } => placed.counters.corrupted.add(packet.length()),
        }
        placed.node.handle_input(self.simulation.now, input);
        self.drain_node(node)
    }

    /// Carries out the outputs of a node, and updates its deadline.
    fn drain_node(&mut self, id: NodeId) -> Result<(), RunError> {
        let now = self.simulation.now;
        while let Some(output) = self.simulation.nodes[id.index()].node.poll_output() {
            match output {
                Output::Send { port, packet } => self.send(id, port, packet)?,
                Output::Event(event) => {
                    let flow = self.observer.event(now, id, &event);
                    self.heed(flow);
                }
            }
        }
        let placed = &self.simulation.nodes[id.index()];
        let flow = self.observer.acted(now, id, &placed.node);
        let deadline = placed.node.poll_timeout().map(|at| at.max(now));
        self.simulation.schedule.set(placed.slot, deadline);
        self.heed(flow);
        Ok(())
    }

    fn send(&mut self, from: NodeId, port: Port, packet: N::Packet) -> Result<(), RunError> {
        let now = self.simulation.now;
        let placed = &mut self.simulation.nodes[from.index()];
        let Some((id, direction)) = placed.ports.get(usize::from(port.0)).copied().flatten() else {
            return Err(RunError::Unconnected {
                node: placed.name.clone(),
                port: port.0,
            });
        };
        let length = packet.length();
        placed.counters.sent.add(length);
        self.see(id, direction, Moment::Sent, &packet);
        let link = &mut self.simulation.links[id.index()];
        let size = length + link.framing;
        let send = if packet.goes_ahead() {
            channel::Input::SendAhead {
                direction,
                size,
                payload: packet,
            }
        } else {
            channel::Input::Send {
                direction,
                size,
                payload: packet,
            }
        };
        link.channel.handle_input(now, send);
        self.drain_link(id);
        self.see_queue(id, direction);
        Ok(())
    }

    /// Handles the outputs of a link, and updates its deadline.
    fn drain_link(&mut self, id: LinkId) {
        while let Some(output) = self.simulation.links[id.index()].channel.poll_output() {
            match output {
                channel::Output::Deliver { direction, payload } => {
                    self.see(id, direction, Moment::Delivered, &payload);
                    self.see_queue(id, direction);
                    let end = self.simulation.links[id.index()].arrives[direction];
                    let (port, packet) = (end.port, payload);
                    self.expect(end.node, Input::Packet { port, packet });
                }
                channel::Output::Drop {
                    direction,
                    payload,
                    cause: Cause::QueueFull | Cause::Policer,
                } => self.see(id, direction, Moment::Lost(Loss::QueueFull), &payload),
                channel::Output::Drop {
                    direction,
                    payload,
                    cause: Cause::TooLong,
                } => self.see(id, direction, Moment::Lost(Loss::TooLong), &payload),
                channel::Output::Drop {
                    direction,
                    payload,
                    cause: Cause::Air | Cause::Damage,
                }
                | channel::Output::DeliverCorrupted {
                    direction, payload, ..
                } => self.lose(id, direction, payload),
                channel::Output::State { direction, change } => {
                    let at = (id, direction);
                    let flow = self.observer.state(change.at, at, change.good);
                    self.heed(flow);
                }
            }
        }
        let link = &self.simulation.links[id.index()];
        let deadline = link.deadline();
        self.simulation.schedule.set(link.slot, deadline);
    }

    /// Handles a packet that the air lost; its receiver may get it as corrupted.
    fn lose(&mut self, id: LinkId, direction: Direction, packet: N::Packet) {
        self.see(id, direction, Moment::Lost(Loss::Air), &packet);
        self.see_queue(id, direction);
        let link = &self.simulation.links[id.index()];
        if link.corruption_heard {
            let end = link.arrives[direction];
            let port = end.port;
            self.expect(end.node, Input::Corrupted { port, packet });
        }
    }

    fn expect(&mut self, node: NodeId, input: Input<N::Packet>) {
        self.simulation.arrivals.push_back(Arrival { node, input });
    }

    fn see(&mut self, link: LinkId, direction: Direction, moment: Moment, packet: &N::Packet) {
        let sighting = Sighting {
            at: self.simulation.now,
            link,
            direction,
            moment,
        };
        let flow = self.observer.packet(sighting, packet);
        self.heed(flow);
    }

    fn see_queue(&mut self, id: LinkId, direction: Direction) {
        let queue = self.simulation.links[id.index()].channel.waiting(direction);
        let flow = self
            .observer
            .waiting(self.simulation.now, (id, direction), queue);
        self.heed(flow);
    }

    fn heed(&mut self, flow: ControlFlow<()>) {
        self.stopped |= flow.is_break();
    }
}

/// Number of events since time last advanced.
struct Stillness {
    /// Number of events when time last advanced.
    since: u64,
    /// Number of events of each actor when half of the limit was reached.
    activity: Vec<u64>,
}

impl Stillness {
    fn new(since: u64) -> Self {
        Self {
            since,
            activity: Vec::new(),
        }
    }
}
