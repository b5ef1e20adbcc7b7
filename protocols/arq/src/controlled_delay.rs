//! The marks that report a standing queue of one flow to its sender: controlled delay (RFC 8289).

use units::{Duration, Instant};
use wire::ip::Ecn;
use wire::packet::Packet;

/// Parameters of a standing queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodelParameters {
    /// Acceptable minimum wait of packets.
    pub(crate) target: Duration,
    /// Time for which the wait must exceed the target before a packet is marked.
    pub(crate) interval: Duration,
}

impl CodelParameters {
    /// Parameters that no queue exceeds.
    pub(crate) const NEVER: Self = Self {
        target: Duration::from_secs(3_600),
        interval: Duration::from_secs(3_600),
    };
}

/// State of the marking for one flow. Packets whose transport does not support marks (RFC 3168 §5) stay as they are.
#[derive(Debug, Default)]
pub(crate) struct ControlledDelay {
    /// Time when the queue will have stood for an interval, unless it falls below the target before.
    stood_at: Option<Instant>,
    /// Time of the next mark, while the queue stands.
    next: Option<Instant>,
    /// Time when the last mark was due.
    latest: Instant,
    /// Number of marks since the queue began to stand, and that number at the start of the last run.
    count: u32,
    former: u32,
    /// Packets marked since the last [`take_marked`](Self::take_marked).
    marked: u64,
}

impl ControlledDelay {
    /// Marks the packet at the head of the queue, which waited for `waited`, if the queue stands; `alone` if no other
    /// packet waits behind it.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        waited: Duration,
        standing: CodelParameters,
        alone: bool,
    ) {
        let is_capable = matches!(
            packet.ip().map(|ip| ip.ecn()),
            Some(Ecn::Capable0 | Ecn::Capable1)
        );
        if is_capable && self.is_due(now, waited >= standing.target && !alone, standing.interval) {
            self.mark(packet);
        }
    }

    /// Marks a packet in place of dropping it; returns false if its transport does not support marks.
    pub(crate) fn mark(&mut self, packet: &mut Packet) -> bool {
        match packet.mark_congestion() {
            Some(Ecn::Capable0 | Ecn::Capable1) => {
                self.marked += 1;
                true
            }
            Some(Ecn::CongestionExperienced) => true,
            Some(Ecn::NotCapable) | None => false,
        }
    }

    /// Returns the number of packets marked since the last call.
    pub(crate) fn take_marked(&mut self) -> u64 {
        std::mem::take(&mut self.marked)
    }

    /// Resets the state: the queue is empty, or was.
    pub(crate) fn rest(&mut self) {
        self.stood_at = None;
        self.next = None;
    }

    /// Returns true if a mark is due (RFC 8289 §5.5 and §5.6, with marks in place of drops).
    fn is_due(&mut self, now: Instant, stands: bool, interval: Duration) -> bool {
        if !stands {
            self.rest();
            return false;
        }
        let stood_at = *self.stood_at.get_or_insert(now + interval);
        if now < stood_at {
            return false;
        }
        match self.next {
            Some(next) if now < next => return false,
            Some(_) => self.count = self.count.saturating_add(1),
            None => {
                // The queue stands again soon after the last run, so the rate of marks of that run was about right.
                let run = self.count.saturating_sub(self.former);
                let soon = now.since(self.latest) < interval * 16;
                self.count = if run > 1 && soon { run } else { 1 };
                self.former = self.count;
            }
        }
        let from = self.next.unwrap_or(now);
        let next = from + pace(interval, self.count);
        self.next = Some(next);
        self.latest = next;
        true
    }
}

/// Returns the interval divided by the square root of `count`, which makes a TCP sender slow down linearly.
fn pace(interval: Duration, count: u32) -> Duration {
    let square = u128::from(interval.as_nanos()).pow(2) / u128::from(count.max(1));
    Duration::from_nanos(u64::try_from(square.isqrt()).unwrap_or(u64::MAX))
}
