//! The table of connections, by their names on the hop.

use std::collections::{BTreeMap, VecDeque};

use machine::RandomStream;
use redirector::Content;
use units::Instant;

use crate::ConnectionId;
use crate::connection::{Connection, Outcome, Phase};
use crate::counters::{Connections, Traffic};
use crate::deadlines::{Deadline, Deadlines};
use crate::packet::Cid;
use crate::state::ResumeError;

/// Names of connections taken out that are remembered, at most.
const MOVED_MAX: usize = 1_024;

/// Packets with data in a turn. Fewer are fairer, and cost more: each turn meets a connection that is not in the cache.
const TURN: u32 = 4;

/// A connection, and where else it is noted.
#[derive(Debug)]
struct Entry<C> {
    connection: Box<Connection<C>>,
    /// It stands among those that may have something to say.
    ready: bool,
    /// It stands among those that wait for room.
    waiting: bool,
    /// Packets with data that it has sent in its turn.
    turn: u32,
    deadline: Option<Instant>,
    /// How often that has changed.
    changes: u64,
    half_open: bool,
    /// By how much its receive buffer has grown, in bytes.
    grown: u64,
    /// The other end's name for it, once known.
    peer: Cid,
}

/// How many connections are not made yet.
#[derive(Debug, Default)]
pub(crate) struct HalfOpen {
    /// Asked for here.
    pub(crate) opened: usize,
    /// Asked for by the other end.
    pub(crate) arrived: usize,
}

impl HalfOpen {
    fn of(&mut self, id: ConnectionId) -> &mut usize {
        match id {
            ConnectionId::Opened(_) => &mut self.opened,
            ConnectionId::Arrived(_) => &mut self.arrived,
        }
    }
}

/// All connections of an endpoint.
#[derive(Debug)]
pub(crate) struct Table<C> {
    entries: BTreeMap<Cid, Entry<C>>,
    by_id: BTreeMap<ConnectionId, Cid>,
    by_peer: BTreeMap<Cid, Cid>,
    deadlines: Deadlines,
    ready: VecDeque<Cid>,
    /// Those that wait for room on the hop.
    waiting: VecDeque<Cid>,
    half_open: HalfOpen,
    /// The names of connections that were taken out, until when what comes for them is ignored, and what the other end
    /// calls them.
    moved: BTreeMap<Cid, (Instant, Cid)>,
    /// What receive buffers may still grow by, in bytes.
    room_to_grow: u64,
    /// What connections did that are gone.
    past: Traffic,
}

impl<C: Content + Clone> Table<C> {
    /// No connections; their receive buffers may grow by so many bytes in all.
    pub(crate) fn new(room_to_grow: u64) -> Self {
        Self {
            room_to_grow,
            moved: BTreeMap::new(),
            entries: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            deadlines: Deadlines::default(),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            half_open: HalfOpen::default(),
            past: Traffic::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What all connections hold, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let each = self.entries.values();
        each.map(|entry| entry.connection.memory()).sum()
    }

    /// How many connections are not made yet.
    pub(crate) fn half_open(&self) -> &HalfOpen {
        &self.half_open
    }

    /// What went over all connections, those that are gone included.
    pub(crate) fn traffic(&self) -> Traffic {
        let mut traffic = self.past;
        for entry in self.entries.values() {
            traffic += entry.connection.traffic();
        }
        traffic
    }

    /// A name that no connection has, and that nobody can foresee. The table must not be full of all names.
    pub(crate) fn free_name(&self, random: &mut RandomStream) -> Cid {
        loop {
            let name = Cid(random.below(u16::MAX.into()) as u16 + 1);
            if !self.entries.contains_key(&name) && !self.moved.contains_key(&name) {
                return name;
            }
        }
    }

    /// Whether the driver has given this name to a connection.
    pub(crate) fn has(&self, id: ConnectionId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Adds a connection whose names are free.
    pub(crate) fn insert(&mut self, connection: Connection<C>) {
        let own = connection.names.own;
        self.by_id.insert(connection.id, own);
        let entry = Entry {
            connection: Box::new(connection),
            ready: false,
            waiting: false,
            turn: 0,
            deadline: None,
            changes: 0,
            half_open: false,
            grown: 0,
            peer: Cid::NONE,
        };
        self.entries.insert(own, entry);
        self.touch(own);
    }

    /// The connection with this name here.
    pub(crate) fn get(&self, own: Cid) -> Option<&Connection<C>> {
        self.entries.get(&own).map(|entry| &*entry.connection)
    }

    /// The name of the connection that the driver knows as `id`.
    pub(crate) fn own_of(&self, id: ConnectionId) -> Option<Cid> {
        self.by_id.get(&id).copied()
    }

    /// The name here of the connection that the other end knows as `peer`.
    pub(crate) fn own_of_peer(&self, peer: Cid) -> Option<Cid> {
        self.by_peer.get(&peer).copied()
    }

    /// The connection, to be changed: what it has to say is asked for afterwards.
    pub(crate) fn change(&mut self, own: Cid) -> Option<&mut Connection<C>> {
        self.touch(own);
        let entry = self.entries.get_mut(&own)?;
        Some(&mut entry.connection)
    }

    /// Lets the receive buffer of a connection grow, if it should.
    pub(crate) fn grow(&mut self, own: Cid) {
        if let Some(entry) = self.entries.get_mut(&own) {
            let more = entry.connection.grow(self.room_to_grow);
            self.room_to_grow -= more;
            entry.grown += more;
        }
    }

    fn touch(&mut self, own: Cid) {
        if let Some(entry) = self.entries.get_mut(&own).filter(|entry| !entry.ready) {
            entry.ready = true;
            self.ready.push_back(own);
        }
    }

    /// The connection whose turn it is to say something; it is asked again after all others. With `room` on the hop,
    /// also one that waited for it.
    pub(crate) fn next_ready(&mut self, room: bool) -> Option<(Cid, &mut Connection<C>)> {
        while room && self.ready.is_empty() {
            let own = self.waiting.pop_front()?;
            if let Some(entry) = self.entries.get_mut(&own) {
                entry.waiting = false;
            }
            self.touch(own);
        }
        let own = *self.ready.front()?;
        self.ready.rotate_left(1);
        let entry = self.entries.get_mut(&own)?;
        Some((own, &mut entry.connection))
    }

    /// The connection that was asked last has sent data. After its turn it waits, if others do too.
    pub(crate) fn end_turn(&mut self, own: Cid, now: Instant, ended: &mut Connections) {
        let Some(entry) = self.entries.get_mut(&own) else {
            return;
        };
        entry.turn += 1;
        let over = entry.turn >= TURN && !self.waiting.is_empty();
        if over && entry.connection.waits_for_room() {
            entry.connection.settle(now);
            self.settle(own, ended);
        }
    }

    /// The connection that was asked last has nothing more to say: notes what has become of it.
    pub(crate) fn settle(&mut self, own: Cid, ended: &mut Connections) {
        self.ready.pop_back();
        let Some(entry) = self.entries.get_mut(&own) else {
            return;
        };
        entry.ready = false;
        entry.turn = 0;
        let connection = &entry.connection;
        if connection.waits_for_room() && !entry.waiting {
            entry.waiting = true;
            self.waiting.push_back(own);
        }
        let gone = connection.phase == Phase::Gone;
        let deadline = connection.deadline().filter(|_| !gone);
        let moved = entry.deadline != deadline;
        entry.deadline = deadline;
        entry.changes += u64::from(moved);
        if let Some(at) = deadline.filter(|_| moved) {
            let change = entry.changes;
            self.deadlines.add(Deadline { at, own, change });
        }
        let half_open = connection.is_half_open();
        let count = self.half_open.of(connection.id);
        *count += usize::from(half_open);
        *count -= usize::from(std::mem::replace(&mut entry.half_open, half_open));
        let peer = connection.names.peer;
        if entry.peer != peer {
            entry.peer = peer;
            self.by_peer.insert(peer, own);
        }
        if let Some(outcome) = connection.news.outcome
            && self.by_id.remove(&connection.id).is_some()
        {
            match outcome {
                Outcome::Whole => ended.finished += 1,
                Outcome::Broken => ended.reset += 1,
            }
        }
        if gone {
            self.remove(own);
        }
        if moved {
            self.clean_deadlines();
        }
    }

    /// Takes a connection out that goes on elsewhere: until `until` nobody is told that it is not here any more.
    pub(crate) fn take_out(
        &mut self,
        own: Cid,
        now: Instant,
        until: Instant,
    ) -> Option<Box<Connection<C>>> {
        let entry = self.entries.remove(&own)?;
        self.ready.retain(|other| *other != own);
        self.by_id.remove(&entry.connection.id);
        self.clean_deadlines();
        self.forget(own, &entry);
        self.moved.retain(|_, (until, _)| now < *until);
        if self.moved.len() < MOVED_MAX {
            self.moved.insert(own, (until, entry.peer));
        }
        Some(entry.connection)
    }

    /// Puts a connection in that comes from elsewhere. Its names and its number are free.
    pub(crate) fn put_in(&mut self, connection: Connection<C>) -> Result<(), ResumeError> {
        let (own, grown) = (connection.names.own, connection.grown());
        if grown > self.room_to_grow {
            return Err(ResumeError::Buffer(connection.status().receive_buffer));
        }
        self.moved.remove(&own);
        self.insert(connection);
        self.room_to_grow -= grown;
        if let Some(entry) = self.entries.get_mut(&own) {
            entry.grown = grown;
        }
        Ok(())
    }

    /// Whether a connection of this name was taken out a short time ago.
    pub(crate) fn has_moved(&self, own: Cid, now: Instant) -> bool {
        let moved = self.moved.get(&own);
        moved.is_some_and(|(until, _)| now < *until)
    }

    /// Whether one was that the other end knows as `peer`.
    pub(crate) fn has_moved_peer(&self, peer: Cid, now: Instant) -> bool {
        let mut moved = self.moved.values();
        moved.any(|(until, other)| *other == peer && now < *until)
    }

    fn remove(&mut self, own: Cid) {
        let Some(entry) = self.entries.remove(&own) else {
            return;
        };
        self.forget(own, &entry);
    }

    /// What stays of a connection that is gone.
    fn forget(&mut self, own: Cid, entry: &Entry<C>) {
        self.past += entry.connection.traffic();
        self.room_to_grow += entry.grown;
        if self.by_peer.get(&entry.peer) == Some(&own) {
            self.by_peer.remove(&entry.peer);
        }
    }

    /// The earliest deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|first| first.at)
    }

    /// Leaves the earliest deadline that holds in front.
    fn clean_deadlines(&mut self) {
        let entries = &self.entries;
        self.deadlines.clean(entries.len(), |deadline| {
            let entry = entries.get(&deadline.own);
            entry.is_some_and(|entry| entry.changes == deadline.change && entry.deadline.is_some())
        });
    }

    /// A connection whose deadline has come; it is asked for what it has to say afterwards.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<&mut Connection<C>> {
        let Deadline { own, .. } = self.deadlines.first().filter(|first| first.at <= now)?;
        self.touch(own);
        let entry = self.entries.get_mut(&own)?;
        entry.deadline = None;
        entry.changes += 1;
        self.clean_deadlines();
        let entry = self.entries.get_mut(&own)?;
        Some(&mut entry.connection)
    }
}
