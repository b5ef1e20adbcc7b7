//! The error process in a mobile host's driver: in the bad state, what passes either way is lost, or held until the
//! good state returns (the papers' emulation of a link layer that repairs).

use std::collections::VecDeque;

use channel::Direction;
use channel::errors::Timeline;
use rpc::LinkEvent;
use units::Instant;

use super::packet::Packet;

/// The driver's two states and what waits for the good one.
#[derive(Debug)]
pub(super) struct Fades {
    /// Without one nothing fades.
    timeline: Option<Timeline>,
    /// What comes in the bad state is kept.
    holds: bool,
    /// Changes of state are told.
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

    /// A packet comes to the driver on its way down to the mobile host, or up from it.
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

    /// Follows the state.
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

    /// The next packet that has passed, and which way.
    pub(super) fn poll(&mut self) -> Option<(Direction, Packet)> {
        self.passed.pop_front()
    }

    /// What is to be told of the state.
    pub(super) fn poll_news(&mut self) -> Option<LinkEvent> {
        self.news.pop_front()
    }

    /// When the state changes, if anybody waits for that.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let awaited = self.tells || !self.held.is_empty();
        let timeline = self.timeline.as_ref().filter(|_| awaited)?;
        timeline.current().until
    }

    /// Packets that fades have swallowed.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests;
