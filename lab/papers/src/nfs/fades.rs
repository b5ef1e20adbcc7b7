//! The error process in a mobile host's driver: in the bad state, packets in both directions are lost, or held until
//! the good state returns (the papers' emulation of a link layer that repairs).

use std::collections::VecDeque;

use channel::Direction;
use channel::errors::Timeline;
use rpc::LinkEvent;
use units::Instant;

use super::packet::Packet;

/// The two states of the driver and the packets that wait for the good one.
#[derive(Debug)]
pub(super) struct Fades {
    /// Changes of state; `None` if there are no fades.
    timeline: Option<Timeline>,
    /// True if packets in the bad state are held, not lost.
    holds: bool,
    /// True if changes of state are reported.
    tells: bool,
    was_good: bool,
    held: VecDeque<(Direction, Packet)>,
    passed: VecDeque<(Direction, Packet)>,
    news: VecDeque<LinkEvent>,
    lost: u64,
}

impl Fades {
    pub(super) fn new(timeline: Option<Timeline>, holds: bool, tells: bool) -> Self {
        Self {
            timeline,
            holds,
            tells,
            was_good: true,
            held: VecDeque::new(),
            passed: VecDeque::new(),
            news: VecDeque::new(),
            lost: 0,
        }
    }

    /// Takes a packet on its way down to the mobile host, or up from it.
    pub(super) fn pass(&mut self, now: Instant, direction: Direction, packet: Packet) {
        self.handle_timeout(now);
        if self.was_good {
            self.passed.push_back((direction, packet));
        } else if self.holds {
            self.held.push_back((direction, packet));
        } else {
            self.lost += 1;
        }
    }

    /// Follows the changes of state.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        timeline.advance_to(now);
        let good = timeline.current().good;
        if self.tells && good != self.was_good {
            self.news.push_back(if good {
                LinkEvent::FadeEnded { kept: self.holds }
            } else {
                LinkEvent::FadeBegan
            });
        }
        self.was_good = good;
        if good {
            self.passed.append(&mut self.held);
        }
    }

    /// Returns the next packet that has passed, with its direction.
    pub(super) fn poll(&mut self) -> Option<(Direction, Packet)> {
        self.passed.pop_front()
    }

    /// Returns the next event to report.
    pub(super) fn poll_news(&mut self) -> Option<LinkEvent> {
        self.news.pop_front()
    }

    /// Returns the time of the next change of state, if an event or a held packet depends on it.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let awaited = self.tells || !self.held.is_empty();
        let timeline = self.timeline.as_ref().filter(|_| awaited)?;
        timeline.current().until
    }

    /// Returns the number of packets lost in fades.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests;
