//! A mobile host at its home.

use std::collections::VecDeque;

use association::Report;
use units::{Duration, Instant};
use wire::packet::Packet;

use super::message::Yielded;

/// Longest time for which packets wait for a former gateway. Then they go on, perhaps out of order.
const PATIENCE: Duration = Duration::from_millis(300);
/// Most bytes of packets that wait.
const HELD_MOST: usize = 4 << 20;

/// State of a mobile host at its home.
#[derive(Debug, Default)]
pub(crate) struct Home {
    /// Index of the gateway that serves it; `None` if this one does.
    pub(crate) place: Option<usize>,
    /// Number of its latest attachment.
    pub(crate) number: u64,
    /// What the former gateway's association has delivered, for an answer that is repeated.
    pub(crate) answer: Option<Report>,
    /// Segments with data to it that went to the gateway that serves it, and from it that came from there. A packet
    /// that stands for several may arrive in parts, and an acknowledgement may take the place of another one.
    pub(crate) sent: u64,
    pub(crate) came: u64,
    /// Its move from another gateway, until that has ceased.
    pub(crate) moving: Option<Box<Moving>>,
}

/// A move from another gateway.
#[derive(Debug)]
pub(crate) struct Moving {
    pub(crate) from: usize,
    /// Index of the next gateway; `None` for this one.
    pub(crate) to: Option<usize>,
    /// What the mobile host has delivered.
    pub(crate) report: Option<Report>,
    /// Segments to the mobile host that went to the former gateway.
    pub(crate) sent: u64,
    /// Segments from the mobile host, and to it, that came from the former gateway.
    pub(crate) came: u64,
    pub(crate) returned: u64,
    /// Numbers of these that it has sent, once it has ceased.
    pub(crate) awaited: Option<Yielded>,
    /// Time from which nothing is waited for any more.
    pub(crate) due: Instant,
    held: VecDeque<Packet>,
    held_bytes: usize,
}

impl Home {
    /// Returns the time until which what a former gateway still has is waited for, if it has been silent since then.
    pub(crate) fn waits_until(now: Instant, silent_since: Instant) -> Instant {
        now.max(silent_since + PATIENCE)
    }

    /// Begins a move from one gateway to another one, or to this one, which ends at the time `due` at the latest.
    pub(crate) fn begin_move(
        &mut self,
        due: Instant,
        from: usize,
        to: Option<usize>,
        report: Option<Report>,
    ) {
        self.moving = Some(Box::new(Moving {
            from,
            to,
            report,
            sent: std::mem::take(&mut self.sent),
            came: std::mem::take(&mut self.came),
            returned: 0,
            awaited: None,
            due,
            held: VecDeque::new(),
            held_bytes: 0,
        }));
    }

    /// Ends what a gateway has to do with it that is none any more. Packets that wait for it are lost.
    pub(crate) fn leave(&mut self, gateway: usize) {
        if let Some(moving) = self.moving.take_if(|moving| moving.from == gateway) {
            self.place = moving.to;
        }
        if let Some(moving) = self.moving.as_deref_mut() {
            moving.to = moving.to.filter(|to| *to != gateway);
        }
        self.place = self.place.filter(|place| *place != gateway);
    }

    /// Counts anew what goes to a gateway and comes from it: the association with it has begun anew.
    pub(crate) fn count_anew(&mut self, gateway: usize) {
        if self.place == Some(gateway) {
            (self.sent, self.came) = (0, 0);
        }
    }

    /// Returns the move from this gateway, if there is one.
    pub(crate) fn move_from(&mut self, gateway: usize) -> Option<&mut Moving> {
        let moving = self.moving.as_deref_mut();
        moving.filter(|moving| moving.from == gateway)
    }

    /// Counts a packet from the mobile host that came from this gateway; returns false if that does not serve it.
    pub(crate) fn counts(&mut self, gateway: usize, packet: &Packet) -> bool {
        let serves = self.place == Some(gateway);
        let came = match self.moving.as_deref_mut() {
            Some(moving) if moving.from == gateway => &mut moving.came,
            None if serves => &mut self.came,
            Some(_) | None => return false,
        };
        *came += packet.data_segments();
        true
    }
}

impl Moving {
    /// Keeps a packet until the former gateway has ceased; returns false if there is no room.
    pub(crate) fn hold(&mut self, packet: Packet) -> bool {
        let fits = self.held_bytes + packet.len() <= HELD_MOST;
        if fits {
            self.held_bytes += packet.len();
            self.held.push_back(packet);
        }
        fits
    }

    /// Returns the packets that were kept.
    pub(crate) fn into_held(self) -> VecDeque<Packet> {
        self.held
    }

    /// Returns true if everything from the former gateway has come, or is waited for no more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let has_come = |sent: Yielded| self.returned >= sent.returned && self.came >= sent.carried;
        now >= self.due || self.awaited.is_some_and(has_come)
    }
}
