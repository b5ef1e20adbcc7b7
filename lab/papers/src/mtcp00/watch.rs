//! What is seen of a run: the mobile host's card, and when its application gets its buffers.

use std::ops::ControlFlow;

use channel::Direction;
use simulator::{LinkId, Loss, Moment, NodeId, Observer, Sighting};
use units::{Duration, Instant};

use crate::host_work::Card;
use crate::ton97::node::{Event, Node};
use crate::ton97::packet::Packet;

/// A pause of the application's data from here on is a stall: MTCP's tick.
const STALL: Duration = Duration::from_millis(200);

/// When socket buffers are full: each time so many bytes more have come in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffers {
    /// Of a buffer, in bytes.
    size: u64,
    /// How many have come.
    count: u64,
    first: Instant,
    last: Instant,
    /// Squares of the times between one and the next, in ns².
    squares: u128,
    longest: Duration,
    stalled: Duration,
}

impl Buffers {
    fn new(size: u64) -> Self {
        Self {
            size: size.max(1),
            count: 0,
            first: Instant::ZERO,
            last: Instant::ZERO,
            squares: 0,
            longest: Duration::ZERO,
            stalled: Duration::ZERO,
        }
    }

    /// So many bytes have come in all.
    fn reach(&mut self, now: Instant, bytes: u64) {
        let count = bytes / self.size;
        if count <= self.count {
            return;
        }
        // Those that come together have no time between them.
        if self.count == 0 {
            self.first = now;
        } else {
            let pause = now.since(self.last);
            self.squares += u128::from(pause.as_nanos()).pow(2);
            self.longest = self.longest.max(pause);
            if pause >= STALL {
                self.stalled += pause;
            }
        }
        (self.count, self.last) = (count, now);
    }

    /// Mean and standard deviation of the time between a buffer and the next, in seconds.
    pub(super) fn intervals(&self) -> Option<(f64, f64)> {
        let intervals = self.count.checked_sub(1).filter(|count| *count > 0)? as f64;
        let mean = self.last.since(self.first).as_secs_f64() / intervals;
        let square = self.squares as f64 * 1e-18 / intervals;
        Some((mean, (square - mean * mean).max(0.0).sqrt()))
    }

    /// When the first was full; time zero before.
    pub(super) fn first(&self) -> Instant {
        self.first
    }

    /// The longest time between two.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// The time in stalls.
    pub(super) fn stalled(&self) -> Duration {
        self.stalled
    }
}

/// An observer of a run.
#[derive(Debug)]
pub(super) struct Watch {
    mobile: NodeId,
    hop: LinkId,
    pub(super) card: Card,
    pub(super) buffers: Buffers,
    /// Data that are still to arrive: a connection's ends that have not said that they are done.
    missing: u32,
    /// When the last had arrived.
    pub(super) end: Option<Instant>,
}

impl Watch {
    /// Sees the `mobile` host at its end of `hop`, buffers of `size` bytes, and the end of transfers, `ways` of them.
    pub(super) fn new((mobile, hop): (NodeId, LinkId), size: u64, ways: u32) -> Self {
        Self {
            mobile,
            hop,
            card: Card::default(),
            buffers: Buffers::new(size),
            missing: ways,
            end: None,
        }
    }
}

impl Observer<Node> for Watch {
    fn packet(&mut self, sighting: Sighting, packet: &Packet) -> ControlFlow<()> {
        let card = &mut self.card;
        match (sighting.direction, sighting.moment) {
            _ if sighting.link != self.hop => {}
            (Direction::Down, Moment::Delivered) => {
                card.frames_in += 1;
                card.data += packet.data();
            }
            (Direction::Down, Moment::Lost(Loss::Air)) => {
                card.frames_in += 1;
                card.damaged += packet.data();
            }
            (Direction::Up, Moment::Sent) => {
                card.frames_out += 1;
                card.data += packet.data();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn event(&mut self, now: Instant, _: NodeId, event: &Event) -> ControlFlow<()> {
        self.missing = self.missing.saturating_sub(1);
        if *event == Event::Broken {
            return ControlFlow::Break(());
        }
        if self.missing > 0 {
            return ControlFlow::Continue(());
        }
        self.end = Some(now);
        ControlFlow::Break(())
    }

    fn acted(&mut self, now: Instant, id: NodeId, node: &Node) -> ControlFlow<()> {
        if id == self.mobile
            && let Node::Mobile(mobile) = node
        {
            self.buffers.reach(now, mobile.counts().received);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
