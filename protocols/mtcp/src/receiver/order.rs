//! The order of the packets that arrive, by their numbers (the cycles of the wide profile).

use std::collections::VecDeque;
use std::ops::Range;

use machine::ReorderingWindow;
use units::{Duration, Instant};

/// Most gaps remembered, and the time for which one is.
const GAPS_MAX: usize = 256;
const REMEMBERED: Duration = Duration::from_secs(1);
/// Round trip that is assumed while none is known.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Packets that were overtaken and have not arrived.
#[derive(Debug, Clone)]
struct Gap {
    numbers: Range<u64>,
    since: Instant,
    /// True if they were declared lost.
    lost: bool,
}

/// Packets missing among those that arrived. Each is lost after the reordering window.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    highest: u64,
    /// By their numbers, and so by their times.
    gaps: VecDeque<Gap>,
    window: ReorderingWindow,
    round_trip: Option<Duration>,
}

impl Order {
    /// Begins after the packet with this number.
    pub(super) fn resume(&mut self, cycle: u16) {
        self.highest = cycle.into();
    }

    /// Returns the reordering window; zero on a hop that keeps order.
    fn window(&self) -> Duration {
        self.window.get(self.round_trip.unwrap_or(ROUND_TRIP))
    }

    /// Returns true if a packet that was overtaken is not lost at once.
    pub(super) fn waits(&self) -> bool {
        !self.window().is_zero()
    }

    /// Records the arrival of the packet with the low 16 bits `cycle` of its number, on a path of this round trip.
    pub(super) fn arrived(&mut self, cycle: u16, round_trip: Option<Duration>, now: Instant) {
        self.round_trip = round_trip;
        let ahead = cycle.wrapping_sub(self.highest as u16).cast_signed();
        if ahead <= 0 {
            let behind = ahead.unsigned_abs().into();
            if let Some(number) = self.highest.checked_sub(behind) {
                self.fill(number, now);
            }
            return;
        }
        let number = self.highest + u64::from(ahead.unsigned_abs());
        if number > self.highest + 1 {
            self.gaps.push_back(Gap {
                numbers: self.highest + 1..number,
                since: now,
                lost: false,
            });
            let crowded = self.gaps.len() > GAPS_MAX;
            let is_old = |gap: &mut Gap| crowded || now.since(gap.since) > REMEMBERED;
            self.gaps.pop_front_if(is_old);
        }
        self.highest = number;
    }

    /// Records the arrival of a packet that was overtaken, unless it had arrived before.
    fn fill(&mut self, number: u64, now: Instant) {
        let index = self.gaps.partition_point(|gap| gap.numbers.end <= number);
        let Some(gap) = self.gaps.get_mut(index) else {
            return;
        };
        if !gap.numbers.contains(&number) {
            return;
        }
        self.window.late(now.since(gap.since));
        let rest = Gap {
            numbers: number + 1..gap.numbers.end,
            ..*gap
        };
        gap.numbers.end = number;
        if !rest.numbers.is_empty() {
            self.gaps.insert(index + 1, rest);
        }
        if self.gaps[index].numbers.is_empty() {
            self.gaps.remove(index);
        }
    }

    /// Records that a packet with data was taken in, and if all of them had arrived before.
    pub(super) fn taken(&mut self, needless: bool, now: Instant) {
        self.window.settled(now, 1, needless.into());
    }

    /// Declares the packets lost that were overtaken long enough ago. Returns true if there are any.
    pub(super) fn give_up(&mut self, now: Instant) -> bool {
        let window = self.window();
        let due = |gap: &&mut Gap| !gap.lost && gap.since + window <= now;
        let mut any = false;
        for gap in self.gaps.iter_mut().filter(due) {
            gap.lost = true;
            any = true;
        }
        any
    }

    /// Returns the time at which [`give_up`](Self::give_up) has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.first_open()?;
        Some(first.since + self.window())
    }

    fn first_open(&self) -> Option<&Gap> {
        self.gaps.iter().find(|gap| !gap.lost)
    }

    /// Returns the low bits of the highest number before which every packet has arrived or is lost; `None` if no packet
    /// is waited for.
    pub(super) fn settled(&self) -> Option<u16> {
        let first = self.first_open()?;
        Some((first.numbers.start - 1) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_the_first_missing_packet_is_settled() {
        let now = Instant::from_millis(1_000);
        let mut order = Order::default();
        let arrive = |order: &mut Order, cycle| order.arrived(cycle, None, now);
        arrive(&mut order, 1);
        assert_eq!(order.settled(), None, "no packet is missing");
        arrive(&mut order, 5);
        assert_eq!(order.settled(), Some(1));
        arrive(&mut order, 2);
        assert_eq!(order.settled(), Some(2));
        arrive(&mut order, 4);
        arrive(&mut order, 3);
        assert_eq!(order.settled(), None);
    }
}
