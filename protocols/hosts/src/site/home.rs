//! A mobile host at its home.

use std::collections::VecDeque;

use association::Report;
use units::{Duration, Instant};
use wire::packet::Packet;

use super::message::{Step, Yielded};
use super::patience;

/// Longest time for which packets wait for a former gateway, if that is longer than some round trips to it. Then they
/// go on, perhaps out of order.
const PATIENCE: Duration = Duration::from_millis(300);
/// Most bytes of packets that wait.
const HELD_MOST: usize = 4 << 20;
/// Longest time for which the next gateway is waited for: a mobile host gives up its move then.
const UNCLAIMED: Duration = Duration::from_secs(5);

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
    pub(crate) stage: Stage,
    /// The attachment that follows it.
    pub(crate) next: Option<Request>,
    /// What the mobile host has delivered.
    pub(crate) report: Option<Report>,
    /// What the former gateway has said when the mobile host left it, before it was asked to cease.
    pub(crate) left: Option<Departure>,
    /// Segments to the mobile host that went to the former gateway.
    pub(crate) sent: u64,
    /// Segments from the mobile host, and to it, that came from the former gateway.
    pub(crate) came: u64,
    pub(crate) returned: u64,
    /// Numbers of these that it has sent, once it has ceased.
    pub(crate) awaited: Option<Yielded>,
    /// Time from which nothing is waited for any more.
    pub(crate) due: Instant,
    held: Held,
}

/// How far a move has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The mobile host has left the former gateway, and no other one has asked for it.
    Left,
    /// The next gateway has asked for it.
    Asked,
    /// The next gateway serves it, before all of the former one has come.
    Served,
}

/// An attachment that has been asked for.
#[derive(Debug)]
pub(crate) struct Request {
    /// Index of the gateway; `None` for this one.
    pub(crate) to: Option<usize>,
    pub(crate) step: Step,
}

/// What a gateway says of a mobile host that has left it.
#[derive(Debug)]
pub(crate) struct Departure {
    /// The attachment to the next gateway, and what was delivered from the mobile host.
    pub(crate) step: Step,
    /// Segments from it that were carried.
    pub(crate) carried: u64,
}

/// Packets that wait for the end of a move.
#[derive(Debug, Default)]
struct Held {
    /// Those that the former gateway has returned go first.
    returned: VecDeque<Packet>,
    fresh: VecDeque<Packet>,
    bytes: usize,
}

impl Home {
    /// Returns the time until which what a former gateway at this round trip still has is waited for, if it has been
    /// silent since then.
    pub(crate) fn waits_until(
        now: Instant,
        silent_since: Instant,
        round_trip: Option<Duration>,
    ) -> Instant {
        now.max(silent_since + patience(PATIENCE, round_trip))
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
            stage: Stage::Asked,
            next: None,
            report,
            left: None,
            sent: std::mem::take(&mut self.sent),
            came: std::mem::take(&mut self.came),
            returned: 0,
            awaited: None,
            due,
            held: Held::default(),
        }));
    }

    /// Returns the move from this gateway, which has returned something for the mobile host: if it serves that, the
    /// mobile host has left it for one that has not asked yet.
    pub(crate) fn departure_from(&mut self, now: Instant, gateway: usize) -> Option<&mut Moving> {
        if self.moving.is_none() && self.place == Some(gateway) {
            self.begin_move(now + UNCLAIMED, gateway, Some(gateway), None);
            if let Some(moving) = &mut self.moving {
                moving.stage = Stage::Left;
            }
        }
        self.move_from(gateway)
    }

    /// Returns the gateway that serves the mobile host, or that will when what the former one had has come; `None` if
    /// this one does.
    pub(crate) fn next_place(&self) -> Option<usize> {
        match self.moving.as_deref() {
            Some(moving) if moving.stage == Stage::Served => moving.to,
            Some(_) | None => self.place,
        }
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
        let counted = self
            .moving
            .as_deref()
            .map_or(self.place, |moving| moving.to);
        if counted == Some(gateway) {
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
            Some(moving) if moving.serves(gateway) => &mut self.came,
            None if serves => &mut self.came,
            Some(_) | None => return false,
        };
        *came += packet.data_segments();
        true
    }
}

impl Moving {
    /// Keeps a packet until the former gateway has ceased, or one that it has returned until the next one is known;
    /// returns false if there is no room.
    pub(crate) fn hold(&mut self, packet: Packet, is_returned: bool) -> bool {
        let held = &mut self.held;
        let fits = held.bytes + packet.len() <= HELD_MOST;
        if fits {
            held.bytes += packet.len();
            let queue = if is_returned {
                &mut held.returned
            } else {
                &mut held.fresh
            };
            queue.push_back(packet);
        }
        fits
    }

    /// Notes the next gateway, or `None` for this one, by this attachment, and the time until which the former one is
    /// waited for; returns the packets that this one has returned.
    pub(crate) fn set_next(
        &mut self,
        due: Instant,
        to: Option<usize>,
        step: &Step,
    ) -> VecDeque<Packet> {
        (self.to, self.due, self.stage) = (to, due, Stage::Asked);
        self.left.take_if(|left| left.step.number != step.number);
        std::mem::take(&mut self.held.returned)
    }

    /// Returns what the former gateway has said if the next one can serve the mobile host from now on: all that the
    /// former one has carried from there has come.
    pub(crate) fn begins_to_serve(&mut self) -> Option<Departure> {
        let (came, is_asked) = (self.came, self.stage == Stage::Asked);
        let has_come = |left: &mut Departure| is_asked && came >= left.carried;
        let left = self.left.take_if(has_come)?;
        self.stage = Stage::Served;
        Some(left)
    }

    fn serves(&self, gateway: usize) -> bool {
        self.stage == Stage::Served && self.to == Some(gateway)
    }

    /// Returns the attachment that follows, and the packets that were kept.
    pub(crate) fn end(self) -> (Option<Request>, impl Iterator<Item = Packet>) {
        let Held {
            returned, fresh, ..
        } = self.held;
        (self.next, returned.into_iter().chain(fresh))
    }

    /// Returns true if everything from the former gateway has come, or is waited for no more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let has_come = |sent: Yielded| self.returned >= sent.returned && self.came >= sent.carried;
        now >= self.due || self.awaited.is_some_and(has_come)
    }
}
