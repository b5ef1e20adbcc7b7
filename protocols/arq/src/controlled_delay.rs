//! When the queue of one flow tells its sender, by marks, that it stands: controlled delay (RFC 8289).

use units::{Duration, Instant};
use wire::ip::Ecn;
use wire::packet::Packet;

/// What counts as a queue that stands, and how long a sender may take to react.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// How long packets may wait at least, all the time.
    pub(crate) target: Duration,
    /// For so long they must have waited longer before one is marked.
    pub(crate) interval: Duration,
}

impl Standing {
    /// Whatever waits is no queue that stands.
    pub(crate) const NEVER: Self = Self {
        target: Duration::from_secs(3_600),
        interval: Duration::from_secs(3_600),
    };
}

/// Marking of one flow's packets. It does nothing to those whose transport does not understand marks (RFC 3168 §5).
#[derive(Debug, Default)]
pub(crate) struct ControlledDelay {
    /// When the queue will have stood for an interval, unless it falls below the target before.
    stood_at: Option<Instant>,
    /// When the next mark is due, while the queue stands.
    next: Option<Instant>,
    /// When the last one was due.
    latest: Instant,
    /// Which mark that is since it stands, and which the last run began with.
    count: u32,
    former: u32,
    /// Packets marked and not asked about yet.
    marked: u64,
}

impl ControlledDelay {
    /// Judges the packet whose turn it is, which has waited for so long; `alone` if no other waits behind it.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        (packet, waited): (&mut Packet, Duration),
        (standing, alone): (Standing, bool),
    ) {
        let is_capable = matches!(
            packet.ip().map(|ip| ip.ecn()),
            Some(Ecn::Capable0 | Ecn::Capable1)
        );
        if is_capable && self.is_due(now, waited >= standing.target && !alone, standing.interval) {
            self.mark(packet);
        }
    }

    /// Marks a packet in place of dropping it; false if its transport would not understand.
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

    /// How many packets it has marked since this was asked last.
    pub(crate) fn take_marked(&mut self) -> u64 {
        std::mem::take(&mut self.marked)
    }

    /// The queue is empty, or was.
    pub(crate) fn rest(&mut self) {
        self.stood_at = None;
        self.next = None;
    }

    /// RFC 8289 §5.5 and §5.6, for marks.
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
                // It stands again soon after the last run, so that one's pace was about right.
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

/// The interval by the square root of `count`, by which a sender of TCP slows down linearly.
fn pace(interval: Duration, count: u32) -> Duration {
    let square = u128::from(interval.as_nanos()).pow(2) / u128::from(count.max(1));
    Duration::from_nanos(u64::try_from(square.isqrt()).unwrap_or(u64::MAX))
}
