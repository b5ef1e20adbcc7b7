//! The observer of a run: the mobile host's card, and the times at which its application gets its buffers.

use std::ops::ControlFlow;

use channel::Direction;
use simulator::{LinkId, Loss, Moment, NodeId, Observer, Sighting};
use units::{Duration, Instant};

use crate::host_work::Card;
use crate::ton97::interface::Event;
use crate::ton97::node::TonNode;
use crate::ton97::packet::Packet;

/// Shortest pause of the application's data that counts as a stall: the tick of MTCP.
const STALL: Duration = Duration::from_millis(200);

/// The times at which socket buffers are full: each time that `size` more bytes have arrived in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffers {
    /// Size of a buffer in bytes.
    size: u64,
    /// Number of buffers that were filled.
    count: u64,
    first: Instant,
    last: Instant,
    /// Sum of the squares of the times between two buffers, in ns².
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

    /// Notes that `bytes` bytes have arrived in all.
    fn reach(&mut self, now: Instant, bytes: u64) {
        let count = bytes / self.size;
        if count <= self.count {
            return;
        }
        // Buffers that fill at the same instant have no time between them.
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

    /// Returns mean and standard deviation of the time between two buffers, in seconds.
    pub(super) fn intervals(&self) -> Option<(f64, f64)> {
        let intervals = self.count.checked_sub(1).filter(|count| *count > 0)? as f64;
        let mean = self.last.since(self.first).as_secs_f64() / intervals;
        let square = self.squares as f64 * 1e-18 / intervals;
        Some((mean, (square - mean * mean).max(0.0).sqrt()))
    }

    /// Returns the time at which the first was full; time zero before.
    pub(super) fn first(&self) -> Instant {
        self.first
    }

    /// Returns the longest time between two buffers.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns the total time in stalls.
    pub(super) fn stalled(&self) -> Duration {
        self.stalled
    }
}

/// An observer of a run.
#[derive(Debug)]
pub(super) struct BufferObserver {
    mobile: NodeId,
    hop: LinkId,
    pub(super) card: Card,
    pub(super) buffers: Buffers,
    /// Number of ends of connections whose data have not arrived yet.
    missing: u32,
    /// Time at which the last data had arrived.
    pub(super) end: Option<Instant>,
}

impl BufferObserver {
    /// Observes the `mobile` host at its end of `hop`, buffers of `size` bytes, and the end of `ways` transfers.
    pub(super) fn new(mobile: NodeId, hop: LinkId, size: u64, ways: u32) -> Self {
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

impl Observer<TonNode> for BufferObserver {
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

    fn acted(&mut self, now: Instant, id: NodeId, node: &TonNode) -> ControlFlow<()> {
        if id == self.mobile
            && let TonNode::Mobile(mobile) = node
        {
            self.buffers.reach(now, mobile.counts().received);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
