//! Observers, which watch a run without changing it.

use std::ops::ControlFlow;

use channel::{Amount, Direction};
use units::Instant;

use crate::line::LinkId;
use crate::node::{Node, NodeId};

/// Reason why a link does not deliver a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The queue was full when it arrived there.
    QueueFull,
    /// It is longer than the MTU of the link.
    TooLong,
    /// The air lost it; reported when it would have arrived.
    Air,
}

/// Event of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A node hands it to the link.
    Sent,
    /// It arrives at the other end.
    Delivered,
    /// The link does not deliver it.
    Lost(Loss),
}

/// Time, place and event of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// Time of the event.
    pub at: Instant,
    /// Link of the event.
    pub link: LinkId,
    /// Direction of the packet; [`Direction::Down`] leads from the link's first end to its second.
    pub direction: Direction,
    /// Event of the packet.
    pub moment: Moment,
}

/// An observer of a run. Each call may end the run by `Break`, once the current event is finished; so does a trace that
/// cannot be written. Observers combine as tuples; `()` observes nothing.
pub trait Observer<N: Node> {
    /// Observes an event of a packet on a link.
    fn packet(&mut self, _sighting: Sighting, _packet: &N::Packet) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Observes an event that a node reports.
    fn event(&mut self, _now: Instant, _node: NodeId, _event: &N::Event) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Observes a node after it has acted.
    fn acted(&mut self, _now: Instant, _id: NodeId, _node: &N) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Observes the queue of a link after a packet has entered or left it.
    fn waiting(
        &mut self,
        _now: Instant,
        _at: (LinkId, Direction),
        _queue: Amount,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Observes a change of state of a channel [with state notes](crate::Line::with_state_notes).
    fn state(&mut self, _now: Instant, _at: (LinkId, Direction), _good: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<N: Node> Observer<N> for () {}

impl<N: Node, O: Observer<N>> Observer<N> for &mut O {
    fn packet(&mut self, sighting: Sighting, packet: &N::Packet) -> ControlFlow<()> {
        O::packet(self, sighting, packet)
    }

    fn event(&mut self, now: Instant, node: NodeId, event: &N::Event) -> ControlFlow<()> {
        O::event(self, now, node, event)
    }

    fn acted(&mut self, now: Instant, id: NodeId, node: &N) -> ControlFlow<()> {
        O::acted(self, now, id, node)
    }

    fn waiting(&mut self, now: Instant, at: (LinkId, Direction), queue: Amount) -> ControlFlow<()> {
        O::waiting(self, now, at, queue)
    }

    fn state(&mut self, now: Instant, at: (LinkId, Direction), good: bool) -> ControlFlow<()> {
        O::state(self, now, at, good)
    }
}

/// Observes with the inner observer, if there is one.
impl<N: Node, O: Observer<N>> Observer<N> for Option<O> {
    fn packet(&mut self, sighting: Sighting, packet: &N::Packet) -> ControlFlow<()> {
        on(self, |observer| observer.packet(sighting, packet))
    }

    fn event(&mut self, now: Instant, node: NodeId, event: &N::Event) -> ControlFlow<()> {
        on(self, |observer| observer.event(now, node, event))
    }

    fn acted(&mut self, now: Instant, id: NodeId, node: &N) -> ControlFlow<()> {
        on(self, |observer| observer.acted(now, id, node))
    }

    fn waiting(&mut self, now: Instant, at: (LinkId, Direction), queue: Amount) -> ControlFlow<()> {
        on(self, |observer| observer.waiting(now, at, queue))
    }

    fn state(&mut self, now: Instant, at: (LinkId, Direction), good: bool) -> ControlFlow<()> {
        on(self, |observer| observer.state(now, at, good))
    }
}

fn on<O>(
    observer: &mut Option<O>,
    tell: impl FnOnce(&mut O) -> ControlFlow<()>,
) -> ControlFlow<()> {
    observer.as_mut().map_or(ControlFlow::Continue(()), tell)
}

/// Observes with both, even if the first ends the run.
impl<N: Node, A: Observer<N>, B: Observer<N>> Observer<N> for (A, B) {
    fn packet(&mut self, sighting: Sighting, packet: &N::Packet) -> ControlFlow<()> {
        let first = self.0.packet(sighting, packet);
        either(first, self.1.packet(sighting, packet))
    }

    fn event(&mut self, now: Instant, node: NodeId, event: &N::Event) -> ControlFlow<()> {
        let first = self.0.event(now, node, event);
        either(first, self.1.event(now, node, event))
    }

    fn acted(&mut self, now: Instant, id: NodeId, node: &N) -> ControlFlow<()> {
        let first = self.0.acted(now, id, node);
        either(first, self.1.acted(now, id, node))
    }

    fn waiting(&mut self, now: Instant, at: (LinkId, Direction), queue: Amount) -> ControlFlow<()> {
        let first = self.0.waiting(now, at, queue);
        either(first, self.1.waiting(now, at, queue))
    }

    fn state(&mut self, now: Instant, at: (LinkId, Direction), good: bool) -> ControlFlow<()> {
        let first = self.0.state(now, at, good);
        either(first, self.1.state(now, at, good))
    }
}

fn either(first: ControlFlow<()>, second: ControlFlow<()>) -> ControlFlow<()> {
    if first.is_break() { first } else { second }
}

/// An observer that calls a function with the events of nodes: to collect results, and to end a run.
#[derive(Debug, Clone)]
pub struct OnEvent<F>(pub F);

impl<N: Node, F> Observer<N> for OnEvent<F>
where
    F: FnMut(Instant, NodeId, &N::Event) -> ControlFlow<()>,
{
    fn event(&mut self, now: Instant, node: NodeId, event: &N::Event) -> ControlFlow<()> {
        (self.0)(now, node, event)
    }
}
